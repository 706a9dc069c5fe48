import { noSuchLog } from '../../records/logs/filtered.ts';
import type { LogSelection } from '../../records/logs/selection.ts';
import type { ExecutionLog, FoundLogs } from '../../tools/backup-source.ts';
import { log, pageOf } from '../../tools/shapes.ts';
import type { RemoteApi } from './api.ts';
import { remoteLogs } from './lists.ts';

/**
 * The newest matching logs. Repository, `since` and `beforeId` are filtered here, in a limited number of logs.
 */
export async function selectRemoteLogs(
  api: RemoteApi,
  { repository, beforeId, since, ...filter }: LogSelection,
  limit: number,
  signal: AbortSignal,
): Promise<FoundLogs> {
  const list = remoteLogs(filter);
  if (repository === undefined && beforeId === undefined && since === undefined) {
    const query = `${list.path.includes('?') ? '&' : '?'}limit=${limit}`;
    const page = await api.read(`${list.path}${query}`, pageOf(log), signal);
    return { logs: page.data, truncated: page.pagination.total_items > limit };
  }
  const name = repository?.toLowerCase();
  const earliest = since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(since);
  const found: ExecutionLog[] = [];
  let isBehind = beforeId === undefined;
  let isWhole = false;
  for await (const { items, isLast } of api.readPages(list, signal)) {
    for (const log of items) {
      if (Date.parse(log.created_at) < earliest) {
        isWhole = true;
        break;
      }
      if (isBehind && (name === undefined || log.repository?.toLowerCase() === name)) {
        found.push(log);
      }
      if (log.id === beforeId) isBehind = true;
    }
    isWhole ||= isLast;
    if (isWhole || found.length > limit) break;
  }
  if (!isBehind) throw noSuchLog(beforeId);
  return { logs: found.slice(0, limit), truncated: found.length > limit || !isWhole };
}

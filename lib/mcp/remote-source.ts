import { z } from 'zod';
import type { Clock } from '../platform/clock.ts';
import { AppError } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import type { PageRequest } from '../records/page.ts';
import type { LogSelection } from '../records/selected-logs.ts';
import type { BackupSource, ExecutionLog, Run } from '../tools/backup-source.ts';
import { dashboardSummary, log, pageOf, run, trackedRepository } from '../tools/shapes.ts';
import { createRemoteApi, type RemoteApi } from './remote-api.ts';
import { readRemoteFailure } from './remote-failure.ts';
import { remoteLogs, remoteRuns } from './remote-lists.ts';
import { readRemoteMetrics } from './remote-metrics.ts';
import { readRemoteLatestRun, readRemoteRun } from './remote-run.ts';

export interface RemoteSourceOptions {
  /** BACKEND_URL. */
  url: string;
  /** INTERNAL_SECRET. */
  secret: string | undefined;
  fetch: typeof fetch;
  clock: Clock;
  log: Log;
}

/** The service API answers /ready within 3 seconds (decisions 4). */
const READY_WITHIN_MS = 4_000;

const FIXES_NOTE =
  'Read through the service API, which tells the fixes of the latest run alone: those of this one are not known.';

/**
 * Backup data from the service API at BACKEND_URL, for an MCP server without a database. What that API
 * lacks is filtered here within a bound, or refused (decisions 6, Without a database).
 */
export function createRemoteSource({
  clock,
  log: serverLog,
  ...service
}: RemoteSourceOptions): BackupSource {
  const api = createRemoteApi({ name: 'the service API', ...service });
  return {
    readDashboard: (signal) => api.read('/api/dashboard/stats', dashboardSummary, signal),
    readMetrics: (days, signal) => readRemoteMetrics(api, days, signal),
    listRepositories: ({ page, limit }, signal) =>
      api.read(`/api/repos?page=${page}&limit=${limit}`, pageOf(trackedRepository), signal),
    listRuns: ({ page, limit }, status, signal) =>
      status === undefined
        ? api.read(`/api/backups?page=${page}&limit=${limit}`, pageOf(run), signal)
        : listRunsOfStatus(api, { page, limit }, status, signal),
    async readRun(id, signal) {
      const [found, latest] = await Promise.all([
        readRemoteRun(api, id, signal),
        readRemoteLatestRun(api, signal),
      ]);
      if (!found) return null;
      if (latest?.id === id) return { ...found, fixes: latest.fixes };
      return { ...found, fixes: [], note: FIXES_NOTE };
    },
    readLatestRun: (signal) => readRemoteLatestRun(api, signal),
    selectLogs: (selection, limit, signal) => selectRemoteLogs(api, selection, limit, signal),
    readFailure: (runId, signal) => readRemoteFailure(api, runId, signal),
    requestRun: async () => {
      throw needsDatabase('trigger_backup_run');
    },
    recordFix: async () => {
      throw needsDatabase('record_backup_fix');
    },
    async checkDatabase(signal) {
      const startedAt = clock.now();
      try {
        const inTime = AbortSignal.any([signal, AbortSignal.timeout(READY_WITHIN_MS)]);
        await api.read('/ready', z.unknown(), inTime);
        return {
          status: 'connected',
          latency_ms: clock.now() - startedAt,
          pool_open_connections: null,
        };
      } catch (error) {
        serverLog.warn('the database behind the service API does not answer', { error });
        return { status: 'disconnected', latency_ms: null, pool_open_connections: null };
      }
    },
    // The service API does not tell them.
    findArchive: async () => null,
  };
}

function needsDatabase(tool: string): AppError {
  return new AppError('SERVICE_UNAVAILABLE', `${tool} needs DATABASE_URL`);
}

async function listRunsOfStatus(
  api: RemoteApi,
  { page, limit }: PageRequest,
  status: string,
  signal: AbortSignal,
) {
  const fitting: Run[] = [];
  let isWhole = false;
  for await (const { items, isLast } of api.readPages(remoteRuns, signal)) {
    fitting.push(...items.filter((run) => run.status === status));
    isWhole = isLast;
  }
  const first = (page - 1) * limit;
  return {
    data: fitting.slice(first, first + limit),
    pagination: {
      page,
      limit,
      total_items: fitting.length,
      total_pages: Math.ceil(fitting.length / limit),
    },
    ...(isWhole ? {} : { truncated: true as const }),
  };
}

async function selectRemoteLogs(
  api: RemoteApi,
  { repository, ...filter }: LogSelection,
  limit: number,
  signal: AbortSignal,
): Promise<{ logs: ExecutionLog[]; truncated: boolean }> {
  const list = remoteLogs(filter);
  if (repository === undefined) {
    const query = `${list.path.includes('?') ? '&' : '?'}limit=${limit}`;
    const page = await api.read(`${list.path}${query}`, pageOf(log), signal);
    return { logs: page.data, truncated: page.pagination.total_items > limit };
  }
  const name = repository.toLowerCase();
  const found: ExecutionLog[] = [];
  let isWhole = false;
  for await (const { items, isLast } of api.readPages(list, signal)) {
    found.push(...items.filter((log) => log.repository?.toLowerCase() === name));
    isWhole = isLast;
    if (found.length > limit) break;
  }
  return { logs: found.slice(0, limit), truncated: found.length > limit || !isWhole };
}

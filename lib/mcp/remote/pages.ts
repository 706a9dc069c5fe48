import type { z } from 'zod';
import { type PageRequest, pageOffset, paginationOf } from '../../records/base/page.ts';
import type { PageOf, Run, RunSelection } from '../../tools/backup-source.ts';
import { pageOf, type run } from '../../tools/shapes.ts';
import type { RemoteApi, RemoteList } from './api.ts';
import { remoteRuns } from './lists.ts';

/** Reads items from any offset on. The service API only has whole pages. */
export async function readRemotePage<Item extends z.ZodType>(
  api: RemoteApi,
  { path, item }: Pick<RemoteList<Item>, 'path' | 'item'>,
  request: PageRequest,
  signal: AbortSignal,
): Promise<PageOf<Item>> {
  const { limit } = request;
  const offset = pageOffset(request);
  const first = Math.floor(offset / limit) + 1;
  const read = (page: number) =>
    api.read(`${path}?page=${page}&limit=${limit}`, pageOf(item), signal);
  const { data, pagination } = await read(first);
  const skipped = offset % limit;
  if (skipped === 0) return { data, pagination };
  const more = (await read(first + 1)).data;
  return { data: [...data, ...more].slice(skipped, skipped + limit), pagination };
}

/** The matching runs, newest first. Filters are applied here, to a limited number of runs. */
export async function readRemoteRuns(
  api: RemoteApi,
  request: PageRequest,
  { status, hasFailures }: RunSelection,
  signal: AbortSignal,
): Promise<PageOf<typeof run>> {
  if (status === undefined && hasFailures === undefined) {
    return readRemotePage(api, remoteRuns, request, signal);
  }
  const fitting: Run[] = [];
  let isWhole = false;
  for await (const { items, isLast } of api.readPages(remoteRuns, signal)) {
    fitting.push(
      ...items.filter(
        (run) =>
          (status === undefined || run.status === status) &&
          (hasFailures === undefined || runHasFailures(run) === hasFailures),
      ),
    );
    isWhole = isLast;
  }
  const offset = pageOffset(request);
  return {
    data: fitting.slice(offset, offset + request.limit),
    pagination: paginationOf(request, fitting.length),
    ...(isWhole ? {} : { truncated: true as const, more: NOT_ALL_RUNS }),
  };
}

const NOT_ALL_RUNS = 'only the newest 10,000 runs were searched: with DATABASE_URL all of them are';

/** A run can complete although repositories failed in it. */
export function runHasFailures({ status, failed }: Pick<Run, 'status' | 'failed'>): boolean {
  return status === 'failed' || failed > 0;
}

import { log, run, trackedRepository } from '../../tools/shapes.ts';
import type { RemoteList } from './api.ts';

/** Maximum pages of 500 items that are searched for a filter that the service API does not have. */
const MAX_PAGES = 20;

/** Runs, newest first. */
export const remoteRuns: RemoteList<typeof run> = {
  path: '/api/backups',
  item: run,
  keyOf: ({ id }) => id,
  maxPages: MAX_PAGES,
};

/** Repositories with their newest result. */
export const remoteRepositories: RemoteList<typeof trackedRepository> = {
  path: '/api/repos',
  item: trackedRepository,
  keyOf: ({ full_name }) => full_name,
  maxPages: MAX_PAGES,
};

/** Logs, optionally of a run and a level, newest first. */
export function remoteLogs(filter: {
  runId?: number | undefined;
  level?: string | undefined;
}): RemoteList<typeof log> {
  const query = new URLSearchParams();
  if (filter.runId !== undefined) query.set('run_id', String(filter.runId));
  if (filter.level !== undefined) query.set('level', filter.level);
  const path = query.size === 0 ? '/api/logs' : `/api/logs?${query}`;
  return { path, item: log, keyOf: ({ id }) => id, maxPages: MAX_PAGES };
}

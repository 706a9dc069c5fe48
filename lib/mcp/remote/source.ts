import * as z from 'zod';
import { MAX_NAMED_IN_SHORT, MAX_OPEN } from '../../alerts/incidents/list.ts';
import type { Clock } from '../../clock.ts';
import { AppError } from '../../errors.ts';
import type { Log } from '../../log/log.ts';
import { fixLimits } from '../../records/base/fixes.ts';
import type { BackupSource, RunFix } from '../../tools/backup-source.ts';
import { dashboardSummary, openIncidents, restoreProofs, stateCounts } from '../../tools/shapes.ts';
import { createRemoteApi } from './api.ts';
import { hasFailed, readRemoteErrorLogs, readRemoteFailure } from './failure.ts';
import { remoteRepositories } from './lists.ts';
import { selectRemoteLogs } from './logs.ts';
import { readRemoteMetrics } from './metrics-history.ts';
import { readRemotePage, readRemoteRuns } from './pages.ts';
import { readRemoteLatestRun, readRemoteRun } from './run.ts';

export interface RemoteSourceOptions {
  /** BACKEND_URL. */
  url: string;
  /** INTERNAL_SECRET. */
  secret: string | undefined;
  fetch: typeof fetch;
  clock: Clock;
  log: Log;
  /** Milliseconds that the service API has for one answer. Default: see `InternalService`. */
  timeoutMs?: number;
}

/** The service API answers /ready within 3 seconds. */
const READY_WITHIN_MS = 4_000;

const overviewCounts = z.object({ repositories: stateCounts });
const incidentsPage = z.object({
  data: z.array(
    openIncidents
      .unwrap()
      .element.omit({ acknowledged: true })
      .extend({
        acknowledged_at: z.string().nullable(),
        repositories: z.array(z.object({ name: z.string() })),
      }),
  ),
});
/** A service API of an earlier release lacks them. */
const overviewProofs = z.object({ proofs: restoreProofs.optional() });

const FIXES_NOTE =
  'Read through the service API, which returns only the fixes of the latest run: the fixes of this run are not known.';

/**
 * Backup data from the service API at BACKEND_URL, for an MCP server without a database. Filters that the API does
 * not have are applied here to a limited number of items; writes are rejected.
 */
export function createRemoteSource({
  clock,
  log: serverLog,
  ...service
}: RemoteSourceOptions): BackupSource {
  const api = createRemoteApi({ name: 'the service API', ...service });
  /** Reads an optional part of an answer: null, with a warning, if the service API does not return it in time. */
  async function readOrNull<Schema extends z.ZodType>(
    what: string,
    path: string,
    schema: Schema,
    signal: AbortSignal,
  ): Promise<z.output<Schema> | null> {
    try {
      const inTime = AbortSignal.any([signal, AbortSignal.timeout(READY_WITHIN_MS)]);
      return await api.read(path, schema, inTime);
    } catch (error) {
      serverLog.warn(`the service API did not return ${what}`, { error });
      return null;
    }
  }
  return {
    readDashboard: (signal) => api.read('/api/dashboard/stats', dashboardSummary, signal),
    readMetrics: (days, signal) => readRemoteMetrics(api, days, signal),
    listRepositories: (page, signal) => readRemotePage(api, remoteRepositories, page, signal),
    listRuns: (page, filter, signal) => readRemoteRuns(api, page, filter, signal),
    async readRun(id, { offset, limit }, signal) {
      const [found, latest] = await Promise.all([
        readRemoteRun(api, id, signal),
        readRemoteLatestRun(api, signal),
      ]);
      if (!found) return null;
      const [failed, others] = partition(found.results, hasFailed);
      const fixes = latest?.id === id ? latest.fixes : null;
      return {
        run: found.run,
        results: [...failed, ...others].slice(offset, offset + limit),
        result_counts: countBy(found.results.map(({ status }) => status)),
        fixes: (fixes ?? []).slice(-fixLimits.fixes).map(boundFix),
        fixes_count: fixes?.length ?? 0,
        ...(fixes === null ? { note: FIXES_NOTE } : {}),
      };
    },
    readLatestRun: (signal) => readRemoteLatestRun(api, signal),
    selectLogs: (selection, limit, signal) => selectRemoteLogs(api, selection, limit, signal),
    readFailure: (runId, signal) => readRemoteFailure(api, runId, signal),
    readErrorLogs: (runId, repositories, signal) =>
      readRemoteErrorLogs(api, runId, repositories, signal),
    requestRun: async () => {
      throw needsDatabase('trigger_backup_run');
    },
    recordFix: async () => {
      throw needsDatabase('record_backup_fix');
    },
    async countStates(signal) {
      const what = 'the states of the repositories';
      const overview = await readOrNull(what, '/api/overview', overviewCounts, signal);
      return overview?.repositories ?? null;
    },
    async readIncidents(signal) {
      const path = '/api/incidents?state=open&limit=500';
      const page = await readOrNull('the open incidents', path, incidentsPage, signal);
      if (page === null) return null;
      const isLess = ({ severity }: { severity: string }) => Number(severity !== 'critical');
      const first = page.data.sort((one, other) => isLess(one) - isLess(other)).slice(0, MAX_OPEN);
      return first.map(({ acknowledged_at, repositories, ...incident }) => ({
        ...incident,
        acknowledged: acknowledged_at !== null,
        repositories: repositories.slice(0, MAX_NAMED_IN_SHORT).map(({ name }) => name),
      }));
    },
    async readProofs(signal) {
      const overview = await readOrNull(
        'the restore drills',
        '/api/overview',
        overviewProofs,
        signal,
      );
      return overview?.proofs ?? null;
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
        serverLog.warn('the database of the service API does not answer', { error });
        return { status: 'disconnected', latency_ms: null, pool_open_connections: null };
      }
    },
    // The service API does not return them.
    findArchive: async () => null,
  };
}

function needsDatabase(tool: string): AppError {
  return new AppError('SERVICE_UNAVAILABLE', `${tool} needs DATABASE_URL`);
}

/** Limits the runs of a fix like the database does. */
function boundFix(fix: RunFix): RunFix {
  return { ...fix, affected_runs: fix.affected_runs.slice(-fixLimits.runs) };
}

function partition<Item>(items: readonly Item[], fits: (item: Item) => boolean): [Item[], Item[]] {
  return [items.filter(fits), items.filter((item) => !fits(item))];
}

function countBy(names: readonly string[]): Record<string, number> {
  const counts = Map.groupBy(names, (name) => name);
  return Object.fromEntries([...counts].map(([name, all]) => [name, all.length] as const).sort());
}

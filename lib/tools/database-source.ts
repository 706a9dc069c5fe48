import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/database/database.ts';
import { AppError } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import { findRecordedArchive } from '../records/archive-state.ts';
import { readFailure } from '../records/failures.ts';
import { recordFix } from '../records/fixes.ts';
import { readMetricsHistory } from '../records/metrics-history.ts';
import type { Page, PageRequest } from '../records/page.ts';
import { ping } from '../records/ping.ts';
import { listRepos } from '../records/repos.ts';
import { requestRun } from '../records/run-requests.ts';
import { listRuns, readLatestRun, readRunWithFixes } from '../records/runs.ts';
import { selectLogs } from '../records/selected-logs.ts';
import { readDashboardStats } from '../records/stats.ts';
import type { BackupSource, ExecutionLog } from './backup-source.ts';

const DAY_MS = 86_400_000;

/** SQLSTATEs of a table and of a column that is not there. */
const missingStates = ['42P01', '42703'];

export interface DatabaseSourceHandles {
  db: Database;
  clock: Clock;
  log: Log;
}

/** Backup data straight from the database: one statement a read or write (decisions 3). */
export function createDatabaseSource({
  db: given,
  clock,
  log,
}: DatabaseSourceHandles): BackupSource {
  const db = explainMissingTables(given);
  return {
    readDashboard: async () => JSON.parse(await readDashboardStats(db)),
    readMetrics: async (days) =>
      JSON.parse(await readMetricsHistory(db, clock.now() - days * DAY_MS)),
    listRepositories: async (page) => toPage(await listRepos(db, page), page),
    listRuns: async (page, status) => toPage(await listRuns(db, page, status), page),
    readRun: async (id) => parseOrNull(await readRunWithFixes(db, id)),
    readLatestRun: async () => parseOrNull(await readLatestRun(db)),
    async selectLogs(selection, limit) {
      const logs: ExecutionLog[] = JSON.parse(await selectLogs(db, selection, limit + 1));
      return { logs: logs.slice(0, limit), truncated: logs.length > limit };
    },
    readFailure: async (runId) => parseOrNull(await readFailure(db, runId)),
    requestRun: async ({ target, reason }) =>
      JSON.parse(await requestRun(db, { target, reason, requestedBy: 'mcp' })),
    recordFix: async (fix) => JSON.parse(await recordFix(db, fix)),
    async checkDatabase() {
      const startedAt = clock.now();
      try {
        await ping(db);
        return {
          status: 'connected',
          latency_ms: clock.now() - startedAt,
          pool_open_connections: db.poolStats().total,
        };
      } catch (error) {
        log.warn('the database does not answer', { error });
        return {
          status: 'disconnected',
          latency_ms: null,
          pool_open_connections: db.poolStats().total,
        };
      }
    },
    async findArchive(repository) {
      try {
        return await findRecordedArchive(given, repository);
      } catch (error) {
        // Records are consulted "when that table exists" (spec 3, Archive resolution).
        if (isMissing(error)) return null;
        throw error;
      }
    },
  };
}

/** Makes a database without our tables say how it gets them, instead of an internal error. */
function explainMissingTables(db: Database): Database {
  return {
    ...db,
    async query(statement, values, options) {
      try {
        return await db.query(statement, values, options);
      } catch (error) {
        if (!isMissing(error)) throw error;
        throw new AppError(
          'SERVICE_UNAVAILABLE',
          'the database lacks the tables of this tool: run `npm run migrate`',
          { cause: error },
        );
      }
    },
  };
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && missingStates.includes(String(error.code));
}

function toPage({ items, totalItems }: Page, { page, limit }: PageRequest) {
  return {
    data: JSON.parse(items),
    pagination: {
      page,
      limit,
      total_items: totalItems,
      total_pages: Math.ceil(totalItems / limit),
    },
  };
}

function parseOrNull(item: string | null) {
  return item === null ? null : JSON.parse(item);
}

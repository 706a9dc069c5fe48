import { readOpenIncidents } from '../alerts/incidents/list.ts';
import type { RecordedArchive } from '../archives/base/archive-owner.ts';
import type { Clock } from '../clock.ts';
import type { FreshnessConfig } from '../config/freshness.ts';
import type { Database } from '../database/database.ts';
import { AppError } from '../errors.ts';
import type { Log } from '../log/log.ts';
import { recordFix } from '../records/base/fixes.ts';
import { type Page, type PageRequest, paginationOf } from '../records/base/page.ts';
import { readDashboardStats } from '../records/dashboard-stats.ts';
import { readProofs } from '../records/drills/read-proofs.ts';
import { selectLogs } from '../records/logs/filtered.ts';
import { ping } from '../records/ping.ts';
import { findRecordedArchive } from '../records/recorded-archive.ts';
import { countStates, listRepositories } from '../records/repositories/list.ts';
import { judgingNow } from '../records/repositories/repository-states.ts';
import { readMetricsHistory } from '../records/runs/metrics-history.ts';
import { readErrorLogs, readFailure } from '../records/runs/run-failures.ts';
import { requestRun } from '../records/runs/run-requests.ts';
import { listRuns, readLatestRun, readRunDetails } from '../records/runs/runs.ts';
import { listTrackedNames } from '../records/tracked-repos.ts';
import type { BackupSource, ExecutionLog } from './backup-source.ts';
import { latestRun, pageOf, run, trackedRepository } from './shapes.ts';
import { describeUnknown, MAX_NAMES_COMPARED } from './unknown-names.ts';

const DAY_MS = 86_400_000;
/** The time limit for asking whether the database answers. */
const COUNTED_WITHIN_MS = 3_000;

/** SQLSTATEs of a missing table and a missing column. */
const missingStates = ['42P01', '42703'];

export interface DatabaseSourceDeps {
  db: Database;
  clock: Clock;
  log: Log;
  config: FreshnessConfig;
}

/** Backup data from the database. Each method runs one statement. */
export function createDatabaseSource({
  db: given,
  clock,
  log,
  config,
}: DatabaseSourceDeps): BackupSource {
  const db = explainMissingTables(given);
  const judging = () => judgingNow({ clock, config });
  return {
    readDashboard: async () => JSON.parse(await readDashboardStats(db, judging())),
    readMetrics: async (days) =>
      JSON.parse(await readMetricsHistory(db, clock.now() - days * DAY_MS)),
    listRepositories: async (page) =>
      pageOf(trackedRepository).parse(
        toPage(await listRepositories(db, page, { ...judging(), order: 'size' }), page),
      ),
    listRuns: async (page, filter) =>
      // Without fields that only the service API has, which would use up an answer's room.
      pageOf(run).parse(toPage(await listRuns(db, page, filter), page)),
    readRun: async (id, results) => parseOrNull(await readRunDetails(db, id, results)),
    readLatestRun: async () => latestRun.nullable().parse(parseOrNull(await readLatestRun(db))),
    async selectLogs(selection, limit, _signal, maxMessage) {
      const logs: ExecutionLog[] = JSON.parse(
        await selectLogs(db, selection, limit + 1, maxMessage),
      );
      return { logs: logs.slice(0, limit), truncated: logs.length > limit };
    },
    readFailure: async (runId) => parseOrNull(await readFailure(db, runId)),
    readErrorLogs: (runId, repositories) => readErrorLogs(db, runId, repositories),
    async requestRun({ target, reason }) {
      const request = await requestRun(db, { target, reason, requestedBy: 'mcp' });
      if (request === null) throw await unknownTarget(db, target ?? '');
      return JSON.parse(request);
    },
    async recordFix(fix) {
      const recorded = await recordFix(db, fix);
      if (recorded === null) {
        throw new AppError(
          'NOT_FOUND',
          `backup run ${fix.affectedRunId} does not exist: list_backup_runs shows which do`,
        );
      }
      return JSON.parse(recorded);
    },
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
    async countStates() {
      try {
        return await countStates(given, judging(), COUNTED_WITHIN_MS);
      } catch (error) {
        log.warn('the states of repositories cannot be read', { error });
        return null;
      }
    },
    async readIncidents() {
      try {
        return await readOpenIncidents(given, COUNTED_WITHIN_MS);
      } catch (error) {
        log.warn('the open incidents cannot be read', { error });
        return null;
      }
    },
    async readProofs() {
      try {
        return await readProofs(given, judging().now, COUNTED_WITHIN_MS);
      } catch (error) {
        log.warn('the restore drills cannot be read', { error });
        return null;
      }
    },
    findArchive: (repository) => findArchive(given, repository),
  };
}

/** The recorded archive of `owner/name`; null if there is none. */
export async function findArchive(
  db: Database,
  repository: string,
): Promise<RecordedArchive | null> {
  try {
    return await findRecordedArchive(db, repository);
  } catch (error) {
    // The database of another program may not have this table.
    if (isMissing(error)) return null;
    throw error;
  }
}

async function unknownTarget(db: Database, asked: string): Promise<AppError> {
  const names = await listTrackedNames(db, MAX_NAMES_COMPARED);
  return new AppError(
    'NOT_FOUND',
    names.length === 0
      ? 'no repository is tracked yet: back one up first with `npm run worker -- run`, or leave target_repo out'
      : describeUnknown(asked, names),
  );
}

/** Replaces the internal error of a database without our tables by one that says how to create them. */
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

function toPage({ items, totalItems }: Page, request: PageRequest) {
  return { data: JSON.parse(items), pagination: paginationOf(request, totalItems) };
}

function parseOrNull(item: string | null) {
  return item === null ? null : JSON.parse(item);
}

import type { Database, SqlValue, Statement } from '../../database/database.ts';
import { AppError } from '../../errors.ts';
import type { RunFault } from '../runs/run-faults.ts';
import { latestSignOfLife, STALE_RUN_MESSAGE } from '../runs/stale-runs.ts';
import { formatProgress, type RunProgress } from './progress.ts';

/** The counters in a run's row. */
export interface RunCounters {
  successful: number;
  failed: number;
  skipped: number;
}

/** A running run, of our worker or another writer. */
export interface ActiveRun {
  id: number;
  /** ISO 8601 in UTC. */
  startedAt: string;
}

/** A run that one of our workers started. */
export interface StartedRun {
  id: number;
  /** ISO 8601 in UTC, with microseconds; with the id it names a run of any database. */
  startedAt: string;
}

/** After this long without a heartbeat, a run of our worker is abandoned and another may start. */
export const RUN_LEASE_MS = 3 * 60_000;

const UNDEFINED_TABLE = '42P01';
const UNDEFINED_COLUMN = '42703';

const milliseconds = (parameter: string) => `${parameter}::double precision * interval '1 ms'`;
/** SQL for the `startedAt` of a StartedRun. */
export const exactStart = `to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
const sinceStart = 'greatest(0, extract(epoch FROM now() - started_at) * 1000)::bigint';
/** A run of another writer whose latest sign of life is at most $1 milliseconds old. */
const runOfAnotherWriter = `status = 'running' AND exclusive_key IS NULL
  AND ${latestSignOfLife} >= now() - ${milliseconds('$1')}`;

// The unique key of all our workers lets only one of two concurrent starts insert. Counting `abandoned`
// forces its update to finish first, which frees the key.
const insertRun: Statement = {
  name: 'start_run',
  text: `WITH abandoned AS (
      UPDATE backup_runs SET
        status = CASE status WHEN 'running' THEN 'failed' ELSE status END,
        error_message = CASE status WHEN 'running' THEN $3 ELSE error_message END,
        fault = CASE status WHEN 'running' THEN 'stale' ELSE fault END,
        duration_ms = CASE status WHEN 'running' THEN ${sinceStart} ELSE duration_ms END,
        completed_at = coalesce(completed_at, now()), exclusive_key = NULL, progress = NULL
      WHERE exclusive_key = 'worker'
        AND (status <> 'running'
          OR coalesce(heartbeat_at, started_at) < now() - ${milliseconds('$2')}
          OR id = $5::int AND ${exactStart} = $6)
      RETURNING id
    )
    INSERT INTO backup_runs
      (status, started_at, heartbeat_at, exclusive_key, total_repos, fleet_token, schedule_ms,
        schedule_id)
    SELECT 'running', now(), now(), 'worker', $4::int, $7, $8::bigint, $9::bigint
    WHERE (SELECT count(*) FROM abandoned) >= 0
      -- Fails on tables of an earlier version, before the run writes to them.
      AND NOT EXISTS (SELECT stop_requested_at FROM backup_runs WHERE false)
      AND NOT EXISTS (SELECT FROM backup_runs AS run WHERE ${runOfAnotherWriter})
    ON CONFLICT (exclusive_key) DO NOTHING
    RETURNING id, ${exactStart} AS "startedAt"`,
};

const activeRun: Statement = {
  name: 'active_run',
  text: `SELECT id, to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS "startedAt"
    FROM backup_runs AS run
    WHERE status = 'running' AND exclusive_key = 'worker' OR ${runOfAnotherWriter}
    ORDER BY started_at DESC, id DESC LIMIT 1`,
};

/** What is needed to start a run. */
export interface RunStart {
  totalRepos: number;
  staleAfterMs: number;
  /** A run whose worker is known to be dead; it counts as abandoned at once. */
  abandoned?: StartedRun | null;
  /** The token of a run that others may join. Default: null, they may not. */
  fleetToken?: string | null;
  /** The interval of the worker in milliseconds; 0 if a person started the run once. Default: null, unknown. */
  scheduleMs?: number | null;
  /** The schedule that starts it. Default: null, none. */
  scheduleId?: number | null;
}

/**
 * Starts a run, unless another is active: then returns that run, or null if it has just ended. An abandoned run
 * of our worker is failed and replaced; a run of another writer counts as active until it is stale. Throws
 * SERVICE_UNAVAILABLE when the tables are missing.
 */
export async function startRun(
  db: Database,
  start: RunStart,
): Promise<StartedRun | { active: ActiveRun | null }> {
  const { totalRepos, staleAfterMs, abandoned = null, fleetToken = null } = start;
  const { scheduleMs = null, scheduleId = null } = start;
  const dead = [abandoned?.id ?? null, abandoned?.startedAt ?? null];
  const about = [...dead, fleetToken, scheduleMs, scheduleId];
  const values = [staleAfterMs, RUN_LEASE_MS, STALE_RUN_MESSAGE, totalRepos, ...about];
  const [started] = await insertRunOrExplain(db, values);
  if (started) return started;
  return { active: await findActiveRun(db, staleAfterMs) };
}

/** The active run, if there is one. */
export async function findActiveRun(db: Database, staleAfterMs: number): Promise<ActiveRun | null> {
  const [active] = await db.query<ActiveRun>(activeRun, [staleAfterMs]);
  return active ?? null;
}

async function insertRunOrExplain(db: Database, values: SqlValue[]): Promise<StartedRun[]> {
  try {
    return await db.query<StartedRun>(insertRun, values);
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code !== UNDEFINED_TABLE && code !== UNDEFINED_COLUMN) throw error;
    const what = code === UNDEFINED_TABLE ? 'no tables yet' : 'tables of an earlier version';
    const message = `the database has ${what}: run \`npm run migrate\``;
    throw new AppError('SERVICE_UNAVAILABLE', message);
  }
}

const beat: Statement = {
  name: 'beat_run',
  text: `UPDATE backup_runs
    SET heartbeat_at = now(), successful = $2::int, failed = $3::int, skipped = $4::int,
      progress = coalesce($5::jsonb, progress)
    WHERE id = $1::int AND status = 'running' AND exclusive_key = 'worker'
    RETURNING id`,
};

/**
 * Records a heartbeat, the counters of a run and, if given, its progress. Returns false when the run is no longer ours,
 * because it was considered stale and closed.
 */
export async function beatRun(
  db: Database,
  id: number,
  counters: RunCounters,
  progress: RunProgress | null = null,
): Promise<boolean> {
  const { successful, failed, skipped } = counters;
  const at = progress && formatProgress(progress);
  return (await db.query(beat, [id, successful, failed, skipped, at])).length > 0;
}

// Changes neither the heartbeat nor the counters, because it may arrive late.
const progressing: Statement = {
  name: 'progress_of_run',
  text: `UPDATE backup_runs SET progress = $2::jsonb
    WHERE id = $1::int AND status = 'running' AND exclusive_key = 'worker'`,
};

/** Stores a run's progress, if the run is still ours. */
export async function writeProgress(
  db: Database,
  id: number,
  progress: RunProgress,
): Promise<void> {
  await db.query(progressing, [id, formatProgress(progress)]);
}

const total: Statement = {
  name: 'total_of_run',
  text: `UPDATE backup_runs SET total_repos = $2::int
    WHERE id = $1::int AND status = 'running' AND exclusive_key = 'worker'`,
};

/** Stores a run's number of repositories, once discovery has found them. */
export async function writeTotal(db: Database, id: number, totalRepos: number): Promise<void> {
  await db.query(total, [id, totalRepos]);
}

const finish: Statement = {
  name: 'finish_run',
  text: `WITH finished AS (
      UPDATE backup_runs SET status = $2, error_message = $3, exclusive_key = NULL, progress = NULL,
        completed_at = now(), heartbeat_at = now(), duration_ms = ${sinceStart},
        successful = $4::int, failed = $5::int, skipped = $6::int, stopped_by = $8, fault = $9
      WHERE id = $1::int AND status = 'running' AND exclusive_key = 'worker'
      RETURNING id
    ), closed AS (
      UPDATE backup_run_requests SET status = CASE
        WHEN $2 = 'completed' AND EXISTS (SELECT FROM finished) AND NOT id = ANY ($7::int[])
        THEN 'completed' ELSE 'failed' END
      WHERE run_id = $1::int AND status = 'claimed'
    )
    SELECT (EXISTS (SELECT FROM finished) OR EXISTS (
      SELECT FROM backup_runs WHERE id = $1::int AND status = $2 AND error_message = $3
    ))::int AS ended`,
};

export interface RunEnding {
  id: number;
  status: 'completed' | 'failed';
  /** Empty on success. */
  errorMessage: string;
  /** The signal that ended the worker, such as SIGINT. Default: null, none did. */
  stoppedBy?: string | null;
  /** Default: null, none that other parts ask for. */
  fault?: RunFault | null | undefined;
  counters: RunCounters;
  /** Ids of claimed requests that failed, even if the run completed. */
  failedRequests: readonly number[];
}

/**
 * Ends a run and closes the requests it claimed. Safe to retry. Returns false when another process has ended
 * the run; its row is left unchanged and its requests fail.
 */
export async function finishRun(db: Database, ending: RunEnding): Promise<boolean> {
  const { id, status, errorMessage, counters, failedRequests } = ending;
  const { stoppedBy = null, fault = null } = ending;
  const { successful, failed, skipped } = counters;
  const counts = [successful, failed, skipped];
  const values = [id, status, errorMessage, ...counts, failedRequests, stoppedBy, fault];
  const [row] = await db.query<{ ended: number }>(finish, values);
  return row?.ended === 1;
}

const all: Statement = {
  name: 'covers_all_of_run',
  text: `UPDATE backup_runs SET covers_all = $2::boolean
    WHERE id = $1::int AND status = 'running' AND exclusive_key = 'worker'`,
};

/** Stores whether a run backs up all repositories. */
export async function writeCoversAll(db: Database, id: number, coversAll: boolean): Promise<void> {
  await db.query(all, [id, coversAll]);
}

// Its requests wait for the next run: nothing has been done for them.
const failDead: Statement = {
  name: 'fail_dead_run',
  text: `WITH failed AS (
      UPDATE backup_runs SET status = 'failed', error_message = $3, exclusive_key = NULL, progress = NULL,
        completed_at = now(), duration_ms = ${sinceStart}
      WHERE id = $1::int AND ${exactStart} = $2 AND status = 'running' AND exclusive_key = 'worker'
      RETURNING id
    )
    UPDATE backup_run_requests AS request SET status = 'pending', claimed_at = NULL, run_id = NULL
    FROM failed WHERE request.run_id = failed.id AND request.status = 'claimed'`,
};

/** Ends a run whose worker is known to be dead. */
export async function failDeadRun(db: Database, { id, startedAt }: StartedRun): Promise<void> {
  await db.query(failDead, [id, startedAt, STALE_RUN_MESSAGE]);
}

import type { Database, Statement } from '../../database/database.ts';
import type { NewLog } from './logs.ts';
import { happened, type RepositoryResult, resultValues, storeResult } from './results.ts';
import type { RunCounters, RunEnding, StartedRun } from './runs.ts';

// Delivers what a run recorded while the database was unreachable. Each statement may be repeated: the run is found by
// the spool's id, its log lines by their times, and its results by repository, since a run has one for each.

const keyOf = (spoolId: string) => `spool:${spoolId}`;

/** The run that a spool belongs to. */
export interface SpooledRun {
  /** A UUID. */
  spoolId: string;
  /** Its row, if the run began in the database. */
  started: StartedRun | null;
  /** When it began, ISO 8601. */
  at: string;
}

// A run whose worker lost the database may have been marked as failed meanwhile. The spool's key makes room for another
// active run.
const adopt: Statement = {
  name: 'adopt_spooled_run',
  text: `WITH known AS (
      SELECT id FROM backup_runs WHERE exclusive_key = $1
    ), begun AS (
      UPDATE backup_runs SET exclusive_key = $1, heartbeat_at = now(), progress = NULL
      WHERE id = $2::int AND NOT EXISTS (SELECT FROM known)
        AND to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') = $3
      RETURNING id
    ), added AS (
      INSERT INTO backup_runs (status, started_at, heartbeat_at, exclusive_key)
      SELECT 'running', ${happened('$4')}, now(), $1
      WHERE NOT EXISTS (SELECT FROM known) AND (SELECT count(*) FROM begun) = 0
      RETURNING id
    )
    SELECT id FROM known UNION ALL SELECT id FROM begun UNION ALL SELECT id FROM added`,
};

/** Finds the row of a spooled run, or adds it, and returns its id. */
export async function adoptSpooledRun(
  db: Database,
  { spoolId, started, at }: SpooledRun,
): Promise<number> {
  const values = [keyOf(spoolId), started?.id ?? null, started?.startedAt ?? null, at];
  const [run] = await db.query<{ id: number }>(adopt, values);
  if (run === undefined) throw new Error('a spooled run has no row');
  return run.id;
}

/** A log line with its time (ISO 8601), which is unique within its run. */
export type SpooledLog = Omit<NewLog, 'runId'> & { at: string };

const addLogs: Statement = {
  name: 'deliver_logs',
  text: `INSERT INTO execution_logs (run_id, level, message, repository, created_at)
    SELECT $1::int, level, message, repository, at
    FROM unnest($2::text[], $3::text[], $4::text[], $5::timestamptz[])
      AS line (level, message, repository, at)
    WHERE NOT EXISTS (
      SELECT FROM execution_logs AS log WHERE log.run_id = $1::int AND log.created_at = line.at
    )
    ORDER BY at`,
};

/** Stores lines of a spooled run. */
export async function deliverLogs(
  db: Database,
  runId: number,
  lines: readonly SpooledLog[],
): Promise<void> {
  const column = (name: keyof SpooledLog) => lines.map((line) => line[name]);
  const columns = [column('level'), column('message'), column('repository'), column('at')];
  await db.query(addLogs, [runId, ...columns]);
}

const addResult: Statement = {
  name: 'deliver_result',
  text: `WITH ${storeResult({
    isNew: `NOT EXISTS (
        SELECT FROM backup_results WHERE run_id = $1::int AND repo_full_name = $2
      )`,
  })}
    UPDATE backup_runs SET heartbeat_at = now() WHERE id = $1::int`,
};

/** A result with its time (ISO 8601). */
export interface SpooledResult extends RepositoryResult {
  at: string;
}

/** Stores a result of a spooled run, and its archive. */
export async function deliverResult(
  db: Database,
  runId: number,
  result: SpooledResult,
): Promise<void> {
  await db.query(addResult, resultValues(runId, result, { at: result.at }));
}

const checked: Statement = {
  name: 'deliver_checked',
  text: `UPDATE worker_repo_state SET checked_at = greatest(checked_at, ${happened('$2')})
    WHERE repo_full_name = $1`,
};

/** Records when a spooled run found a repository unchanged. */
export async function deliverChecked(db: Database, repository: string, at: string): Promise<void> {
  await db.query(checked, [repository, at]);
}

const end: Statement = {
  name: 'deliver_end',
  text: `WITH closed AS (
      UPDATE backup_run_requests SET status = CASE
        WHEN $2 = 'completed' AND id = ANY ($9::int[]) THEN 'completed' ELSE 'failed' END
      WHERE run_id = $1::int AND status = 'claimed'
    )
    UPDATE backup_runs SET status = $2, error_message = $3, completed_at = ${happened('$4')},
      heartbeat_at = now(), progress = NULL, total_repos = coalesce($8::int, total_repos),
      duration_ms = greatest(0, extract(epoch FROM ${happened('$4')} - started_at) * 1000)::bigint,
      successful = coalesce($5::int, successful), failed = coalesce($6::int, failed),
      skipped = coalesce($7::int, skipped), stopped_by = $10, fault = $11
    WHERE id = $1::int`,
};

/** How a spooled run ended. */
export interface SpooledEnd
  extends Pick<RunEnding, 'status' | 'errorMessage' | 'stoppedBy' | 'fault'> {
  /** ISO 8601. */
  at: string;
  /** Null if the spool does not say; so is `totalRepos`. */
  counters: RunCounters | null;
  totalRepos: number | null;
  /** Ids of claimed requests that were fulfilled. */
  metRequests: readonly number[];
}

/** Records how a spooled run ended, overriding what was recorded about that before. */
export async function deliverEnd(db: Database, runId: number, ending: SpooledEnd): Promise<void> {
  const how = [ending.status, ending.errorMessage, ending.at];
  const counts = [
    ending.counters?.successful ?? null,
    ending.counters?.failed ?? null,
    ending.counters?.skipped ?? null,
    ending.totalRepos,
  ];
  await db.query(end, [
    runId,
    ...how,
    ...counts,
    ending.metRequests,
    ending.stoppedBy ?? null,
    ending.fault ?? null,
  ]);
}

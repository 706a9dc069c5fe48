import type { Database, Statement } from '../../database/database.ts';
import { RUN_LEASE_MS } from '../recording/runs.ts';
import { STALE_RUN_MESSAGE } from '../runs/stale-runs.ts';

/** How many of the last runs are looked at. */
const RUNS_READ = 200;
const MAX_REQUESTS = 1_000;

/** A schedule as the server that starts its runs sees it. Times are in milliseconds since the epoch. */
export interface DueSchedule {
  id: number;
  timing: string;
  timeZone: string;
  intervalMs: number;
  variableOf: string | null;
  since: number;
  nextAt: number | null;
  claimedFor: number | null;
  /** The start of its last run that was not interrupted; null if there is none. */
  startedAt: number | null;
}

/** A run for all repositories that something else than a person started. */
export interface CoveringRun {
  startedAt: number;
  /** Null if no schedule started it. */
  scheduleId: number | null;
  /** The interval of its scheduler; null if it is unknown, as with cron. */
  intervalMs: number | null;
}

/** What a server needs to know to start the runs that are due. */
export interface DueFacts {
  /** Those that are not paused. */
  schedules: DueSchedule[];
  /** Newest first. */
  coveringRuns: CoveringRun[];
  /** Whether a worker is running, on any machine. */
  isActive: boolean;
  /** The ids of the pending requests, oldest first. */
  requests: number[];
}

const ms = (column: string) => `round(extract(epoch FROM ${column}) * 1000)::float8`;

// A run that a person stopped did what was due, as far as that person wanted. One whose worker was ended did not.
const due: Statement = {
  name: 'due_schedules',
  text: `WITH last AS MATERIALIZED (
      SELECT id, status, started_at, schedule_id, schedule_ms, covers_all, error_message, stopped_by
      FROM backup_runs AS run WHERE isfinite(run.started_at)
      ORDER BY run.started_at DESC, run.id DESC LIMIT ${RUNS_READ}
    ), counted AS MATERIALIZED (
      SELECT * FROM last WHERE coalesce(stopped_by, 'person') = 'person'
        AND NOT (status = 'failed' AND error_message = '${STALE_RUN_MESSAGE}')
    )
    SELECT json_build_object(
      'schedules', (SELECT coalesce(json_agg(item), '[]') FROM (
        SELECT id, timing, time_zone AS "timeZone", interval_ms AS "intervalMs", variable_of AS "variableOf",
          ${ms('since')} AS since, ${ms('next_at')} AS "nextAt", ${ms('claimed_for')} AS "claimedFor",
          (SELECT max(${ms('counted.started_at')}) FROM counted WHERE counted.schedule_id = schedule.id) AS "startedAt"
        FROM schedules AS schedule WHERE paused_at IS NULL ORDER BY id
      ) AS item),
      'coveringRuns', (SELECT coalesce(json_agg(item), '[]') FROM (
        SELECT ${ms('started_at')} AS "startedAt", schedule_id AS "scheduleId", schedule_ms AS "intervalMs"
        FROM counted WHERE covers_all AND schedule_ms IS DISTINCT FROM 0
        ORDER BY started_at DESC, id DESC
      ) AS item),
      'isActive', EXISTS (SELECT FROM backup_runs WHERE status = 'running' AND exclusive_key = 'worker'
        AND coalesce(heartbeat_at, started_at) >= now() - ${RUN_LEASE_MS} * interval '1 ms'),
      'requests', (SELECT coalesce(json_agg(id ORDER BY id), '[]') FROM (
        SELECT id FROM backup_run_requests WHERE status = 'pending' ORDER BY id LIMIT ${MAX_REQUESTS}
      ) AS request)
    )::text AS facts`,
};

/** Reads what is due. */
export async function readDueFacts(db: Database): Promise<DueFacts> {
  const [row] = await db.query<{ facts: string }>(due);
  if (!row) throw new Error(`${due.name} returned no row`);
  return JSON.parse(row.facts) as DueFacts;
}

const note: Statement = {
  name: 'note_next_run',
  text: 'UPDATE schedules SET next_at = $2::timestamptz WHERE id = $1::bigint AND paused_at IS NULL',
};

/** Records when the next run of a schedule is due, in milliseconds since the epoch. */
export async function noteNextRun(db: Database, id: number, nextAt: number): Promise<void> {
  await db.query(note, [id, new Date(nextAt).toISOString()]);
}

const claim: Statement = {
  name: 'claim_schedule',
  text: `UPDATE schedules SET claimed_for = $2::timestamptz, claimed_by = $3
    WHERE id = $1::bigint AND paused_at IS NULL
      AND (claimed_for IS NULL OR claimed_for < $2::timestamptz OR claimed_by = $3)
    RETURNING id`,
};

/** Claims a due time for a machine: of several servers, one starts the run. False if another one has it. */
export async function claimSchedule(
  db: Database,
  id: number,
  dueAt: number,
  machine: string,
): Promise<boolean> {
  return (await db.query(claim, [id, new Date(dueAt).toISOString(), machine])).length > 0;
}

const release: Statement = {
  name: 'release_schedule',
  text: `UPDATE schedules SET claimed_for = NULL, claimed_by = NULL
    WHERE id = $1::bigint AND claimed_for = $2::timestamptz AND claimed_by = $3`,
};

/** Gives back a due time whose run could not be started here, so that another server may start it. */
export async function releaseSchedule(
  db: Database,
  id: number,
  dueAt: number,
  machine: string,
): Promise<void> {
  await db.query(release, [id, new Date(dueAt).toISOString(), machine]);
}

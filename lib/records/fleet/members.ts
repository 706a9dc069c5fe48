import type { Database, Statement } from '../../database/database.ts';
import { formatProgress, MAX_ACTIVE, type RunProgress } from '../recording/progress.ts';
import { exactStart, RUN_LEASE_MS, type StartedRun } from '../recording/runs.ts';

/** How long a member holds its jobs after its last sign of life, in database time. */
export const JOB_LEASE_MS = RUN_LEASE_MS;

/** SQL for JOB_LEASE_MS. */
export const jobLease = `interval '${JOB_LEASE_MS} ms'`;
/** SQL: whether a row of run_members is alive. */
export const isLive = `seen_at > now() - ${jobLease}`;
/** SQL: whether the row of backup_runs is the active run of our workers. */
export const isActive = `status = 'running' AND exclusive_key = 'worker'`;

/** The active run of our workers. */
export interface FoundRun extends StartedRun {
  /** Null if the run belongs to one worker alone. */
  token: string | null;
}

const find: Statement = {
  name: 'find_shared_run',
  text: `SELECT id, ${exactStart} AS "startedAt", fleet_token AS token FROM backup_runs
    WHERE ${isActive} AND coalesce(heartbeat_at, started_at) >= now() - ${jobLease}`,
};

/** The active run of our workers; null if there is none, or if it was abandoned. */
export async function findSharedRun(db: Database): Promise<FoundRun | null> {
  const [found] = await db.query<FoundRun>(find);
  return found ?? null;
}

/** A worker that takes part in a run. */
export interface Member {
  runId: number;
  /** A UUID, of this process in this run. */
  id: string;
  /** The id of its machine. */
  machine: string;
  hostName: string;
  /** The git host that the worker is configured for. */
  gitHostUrl: string;
  /** Whether it lists the repositories. */
  isStarter: boolean;
}

// We hold the lock of this machine, so any other member of it is dead: its jobs are free at once. A repeated entry
// finds its own row.
const enter: Statement = {
  name: 'enter_shared_run',
  text: `WITH dead AS (
      UPDATE run_members SET seen_at = '-infinity', progress = NULL
      WHERE run_id = $1::int AND machine = $3 AND id <> $2 RETURNING id
    ), freed AS (
      UPDATE run_jobs SET lease_until = '-infinity'
      WHERE run_id = $1::int AND state = 'open' AND claimed_by IN (SELECT id FROM dead)
    )
    INSERT INTO run_members (run_id, id, machine, host_name, git_host_url, is_starter)
    SELECT $1::int, $2, $3, $4, $5, $6::boolean
    WHERE EXISTS (SELECT FROM backup_runs WHERE id = $1::int AND ${isActive})
    ON CONFLICT (run_id, id) DO UPDATE SET seen_at = now()
    RETURNING id`,
};

/** Makes a worker a member of a run; false if the run has ended. The caller holds the lock of its machine. */
export async function enterRun(db: Database, member: Member): Promise<boolean> {
  const { runId, id, machine, hostName, gitHostUrl, isStarter } = member;
  const values = [runId, id, machine, hostName, gitHostUrl, isStarter];
  return (await db.query(enter, values)).length > 0;
}

// What all members are doing: the first repositories of each. Bytes of members that have left still count.
const merged = `reported AS (
      SELECT $2::text AS id, $3::jsonb AS progress, true AS is_live
      UNION ALL
      SELECT id, progress, ${isLive} FROM run_members
      WHERE run_id = $1::int AND id <> $2 AND progress IS NOT NULL
    ), merged AS (
      SELECT jsonb_build_object(
        'bytes', (SELECT coalesce(sum((progress ->> 'bytes')::bigint), 0) FROM reported),
        'active', (SELECT coalesce(jsonb_agg(item ORDER BY place, id), '[]') FROM (
          SELECT item, place, id FROM reported
          CROSS JOIN LATERAL jsonb_array_elements(progress -> 'active')
            WITH ORDINALITY AS active (item, place)
          WHERE is_live ORDER BY place, id LIMIT ${MAX_ACTIVE}
        ) AS first)
      ) AS progress
    )`;

const beat: Statement = {
  name: 'beat_member',
  text: `WITH ${merged}, me AS (
      UPDATE run_members SET seen_at = now(), progress = $3::jsonb
      WHERE run_id = $1::int AND id = $2 AND isfinite(seen_at) RETURNING id
    ), held AS (
      UPDATE run_jobs SET lease_until = now() + ${jobLease}
      WHERE id = ANY ($4::bigint[]) AND state = 'open' AND claimed_by = $2
        AND EXISTS (SELECT FROM me)
      RETURNING id
    ), run AS (
      UPDATE backup_runs SET heartbeat_at = now(), progress = (SELECT progress FROM merged)
      WHERE id = $1::int AND ${isActive} AND EXISTS (SELECT FROM me) RETURNING id
    )
    SELECT CASE WHEN EXISTS (SELECT FROM run) THEN (SELECT count(*) FROM held)::int END AS held`,
};

/**
 * Records that a member is alive, which renews the run and the jobs (by their ids) that it holds. Returns how many of
 * them are still its own; null if the run has ended, or if the member counts as dead.
 */
export async function beatMember(
  db: Database,
  { runId, id }: Pick<Member, 'runId' | 'id'>,
  progress: RunProgress,
  jobs: readonly string[],
): Promise<number | null> {
  const values = [runId, id, formatProgress(progress), jobs];
  const [row] = await db.query<{ held: number | null }>(beat, values);
  return row?.held ?? null;
}

const show: Statement = {
  name: 'show_member',
  text: `WITH ${merged}, me AS (
      UPDATE run_members SET progress = $3::jsonb WHERE run_id = $1::int AND id = $2 RETURNING id
    )
    UPDATE backup_runs SET progress = (SELECT progress FROM merged)
    WHERE id = $1::int AND ${isActive} AND EXISTS (SELECT FROM me)`,
};

/** Stores what a member is doing, and in the run's row what all members are doing. */
export async function showMember(
  db: Database,
  { runId, id }: Pick<Member, 'runId' | 'id'>,
  progress: RunProgress,
): Promise<void> {
  await db.query(show, [runId, id, formatProgress(progress)]);
}

const leave: Statement = {
  name: 'leave_shared_run',
  text: `WITH freed AS (
      UPDATE run_jobs SET lease_until = '-infinity', claimed_by = NULL, tries = tries - 1
      WHERE run_id = $1::int AND state = 'open' AND claimed_by = $2
    )
    UPDATE run_members SET seen_at = '-infinity',
      progress = jsonb_set(progress, '{active}', '[]') WHERE run_id = $1::int AND id = $2`,
};

const others: Statement = {
  name: 'others_in_shared_run',
  text: `SELECT count(*)::int AS others FROM run_members WHERE run_id = $1::int AND ${isLive}`,
};

/** Gives a member's jobs back and ends its membership. Returns how many members are left. */
export async function leaveRun(
  db: Database,
  { runId, id }: Pick<Member, 'runId' | 'id'>,
): Promise<number> {
  await db.query(leave, [runId, id]);
  // In a second statement: of two members that leave at once, the later one must see that it is the last.
  const [row] = await db.query<{ others: number }>(others, [runId]);
  return row?.others ?? 0;
}

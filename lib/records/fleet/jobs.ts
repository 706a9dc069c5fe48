import type { Database, Statement } from '../../database/database.ts';
import { isActive, isLive, jobLease, type Member } from './members.ts';

/** A job is given up once it was claimed this often, by members that died each time. */
export const MAX_CLAIMS = 3;

/** How long a job is reserved for the machine that has its mirror, in database time. */
const PREFERENCE = `interval '1 minute'`;
const JOBS_AT_ONCE = 1_000;

/** A job to publish. */
export interface NewRunJob {
  kind: 'repository' | 'left_out' | 'end';
  /** Empty for the end job. */
  repository: string;
  position: number;
  expectedMs: number | null;
  /** JSON. */
  facts: string;
  host: string | null;
  gitHostUrl: string | null;
  /** Whether only the member that publishes it can read it. */
  isOwn: boolean;
}

// When repeated, it adds what is missing. The machine that last used the mirror is looked up only here.
const publish: Statement = {
  name: 'publish_run_jobs',
  text: `INSERT INTO run_jobs (run_id, kind, repository, position, expected_ms, facts, host,
      git_host_url, only_member, preferred_machine, state)
    SELECT $1::int, kind, repository, position, expected_ms, facts::jsonb, host, git_host_url,
      CASE WHEN is_own = 1 THEN $2 END, state.mirror_machine,
      CASE kind WHEN 'left_out' THEN 'done' ELSE 'open' END
    FROM unnest($3::text[], $4::text[], $5::int[], $6::bigint[], $7::text[], $8::text[], $9::text[],
      $10::int[])
      AS job (kind, repository, position, expected_ms, facts, host, git_host_url, is_own)
    LEFT JOIN worker_repo_state AS state ON state.repo_full_name = job.repository
    WHERE EXISTS (SELECT FROM backup_runs WHERE id = $1::int AND ${isActive})
    ON CONFLICT (run_id, kind, repository) DO NOTHING`,
};

/** Publishes the jobs of a run; the end job comes last. Safe to repeat. */
export async function publishJobs(
  db: Database,
  { runId, id }: Pick<Member, 'runId' | 'id'>,
  jobs: readonly NewRunJob[],
): Promise<void> {
  for (let start = 0; start < jobs.length; start += JOBS_AT_ONCE) {
    const batch = jobs.slice(start, start + JOBS_AT_ONCE);
    await db.query(publish, [
      runId,
      id,
      batch.map(({ kind }) => kind),
      batch.map(({ repository }) => repository),
      batch.map(({ position }) => position),
      batch.map(({ expectedMs }) => expectedMs),
      batch.map(({ facts }) => facts),
      batch.map(({ host }) => host),
      batch.map(({ gitHostUrl }) => gitHostUrl),
      batch.map(({ isOwn }) => Number(isOwn)),
    ]);
  }
}

/** What all members have done. */
export interface RunCounts {
  done: number;
  failed: number;
  /** Sources that were never read. */
  unread: number;
}

/** SQL for the columns of RunCounts. */
const counts = `coalesce(
      (SELECT coalesce(successful, 0) + coalesce(failed, 0) + coalesce(skipped, 0)
        FROM backup_runs WHERE id = $1::int), 0) AS done,
    coalesce((SELECT failed FROM backup_runs WHERE id = $1::int), 0) AS failed,
    (SELECT count(*) FROM backup_runs AS run, jsonb_object_keys(run.unread_sources)
      WHERE run.id = $1::int)::int AS unread`;

/** A job that a member holds. */
export interface ClaimedRunJob extends RunCounts {
  /** A 64-bit integer. */
  id: string;
  kind: 'repository' | 'end';
  repository: string;
  /** JSON. */
  facts: string;
}

/** SQL: whether member `$2` with the git host `$5` can do a row of run_jobs. */
const isAble = `(only_member IS NULL OR only_member = $2)
        AND (git_host_url IS NULL OR git_host_url = $5)`;
const isFree = `run_id = $1::int AND state = 'open' AND lease_until <= now()`;
const hasRoom = `(host IS NULL OR host <> ALL ($4::text[])) AND tries < ${MAX_CLAIMS}`;

/** SQL: the run is active and completely listed, and the member counts as alive. */
const mayClaim = `EXISTS (SELECT FROM backup_runs WHERE id = $1::int AND ${isActive})
        AND EXISTS (SELECT FROM run_jobs WHERE run_id = $1::int AND kind = 'end')
        AND EXISTS (SELECT FROM live WHERE live.id = $2)`;

// Prefers jobs reserved for this machine, then those reserved for none, or for one that is no longer alive or was
// waited for long enough; among each, the longest. Rows that another claim has locked are skipped. The end job waits
// for every job that is held or that a living member can do.
const claim: Statement = {
  name: 'claim_run_job',
  text: `WITH live AS MATERIALIZED (
      SELECT id, machine, git_host_url FROM run_members WHERE run_id = $1::int AND ${isLive}
    ), own AS MATERIALIZED (
      SELECT id FROM run_jobs WHERE ${isFree} AND kind = 'repository' AND preferred_machine = $3
        AND ${hasRoom} AND ${isAble}
        AND ${mayClaim}
      ORDER BY position LIMIT 1 FOR UPDATE SKIP LOCKED
    ), other AS MATERIALIZED (
      SELECT id FROM run_jobs WHERE ${isFree} AND kind = 'repository'
        AND NOT EXISTS (SELECT FROM own)
        AND (preferred_machine IS NULL OR created_at < now() - ${PREFERENCE}
          OR preferred_machine NOT IN (SELECT machine FROM live))
        AND ${hasRoom} AND ${isAble}
        AND ${mayClaim}
      ORDER BY position LIMIT 1 FOR UPDATE SKIP LOCKED
    ), last AS MATERIALIZED (
      SELECT id FROM run_jobs WHERE ${isFree} AND kind = 'end'
        AND NOT EXISTS (SELECT FROM own) AND NOT EXISTS (SELECT FROM other)
        AND ${mayClaim}
        AND NOT EXISTS (
          SELECT FROM run_jobs AS open
          WHERE open.run_id = $1::int AND open.state = 'open' AND open.kind = 'repository'
            AND (open.lease_until > now() OR open.tries < ${MAX_CLAIMS} AND EXISTS (
              SELECT FROM live WHERE (open.only_member IS NULL OR open.only_member = live.id)
                AND (open.git_host_url IS NULL OR open.git_host_url = live.git_host_url)))
        )
      FOR UPDATE SKIP LOCKED
    )
    UPDATE run_jobs SET claimed_by = $2, lease_until = now() + ${jobLease}, tries = tries + 1
    WHERE id = coalesce((SELECT id FROM own), (SELECT id FROM other), (SELECT id FROM last))
    RETURNING id::text, kind, repository, facts::text, ${counts}`,
};

/** Claims the next job for a member, except those whose host is among `fullHosts`; null if there is none now. */
export async function claimRunJob(
  db: Database,
  { runId, id, machine, gitHostUrl }: Member,
  fullHosts: readonly string[],
): Promise<ClaimedRunJob | null> {
  const values = [runId, id, machine, fullHosts, gitHostUrl];
  const [claimed] = await db.query<ClaimedRunJob>(claim, values);
  return claimed ?? null;
}

/** What a member without a job needs to know. */
export interface SharedRunState extends RunCounts {
  isActive: boolean;
  /** Whether all jobs are published. */
  isListed: boolean;
  /** Whether the member that lists the repositories is alive, or about to enter. */
  hasStarter: boolean;
}

const state: Statement = {
  name: 'state_of_shared_run',
  text: `SELECT
    EXISTS (SELECT FROM backup_runs WHERE id = $1::int AND ${isActive})::int AS active,
    EXISTS (SELECT FROM run_jobs WHERE run_id = $1::int AND kind = 'end')::int AS listed,
    (EXISTS (SELECT FROM run_members WHERE run_id = $1::int AND is_starter AND ${isLive})
      OR NOT EXISTS (SELECT FROM run_members WHERE run_id = $1::int AND is_starter)
        AND EXISTS (
          SELECT FROM backup_runs WHERE id = $1::int AND started_at > now() - ${jobLease}
        ))::int AS starter,
    ${counts}`,
};

/** Reads the state of a run. */
export async function readSharedRun(db: Database, runId: number): Promise<SharedRunState> {
  const [row] = await db.query<Record<string, number>>(state, [runId]);
  return {
    isActive: row?.active === 1,
    isListed: row?.listed === 1,
    hasStarter: row?.starter === 1,
    done: row?.done ?? 0,
    failed: row?.failed ?? 0,
    unread: row?.unread ?? 0,
  };
}

const starterGone: Statement = {
  name: 'starter_gone',
  text: `SELECT (NOT EXISTS (SELECT FROM run_jobs WHERE run_id = $1::int AND kind = 'end') AND (
      EXISTS (
        SELECT FROM run_members WHERE run_id = $1::int AND is_starter
          AND (machine = $2 OR NOT (${isLive}))
      ) OR NOT EXISTS (SELECT FROM run_members WHERE run_id = $1::int AND is_starter)
        AND EXISTS (
          SELECT FROM backup_runs WHERE id = $1::int AND started_at <= now() - ${jobLease}
        )
    ))::int AS gone`,
};

/**
 * Whether a run will never be listed, because the member that lists it is dead. The caller holds the lock of `machine`,
 * so every other member there is dead.
 */
export async function isStarterGone(
  db: Database,
  runId: number,
  machine: string,
): Promise<boolean> {
  const [row] = await db.query<{ gone: number }>(starterGone, [runId, machine]);
  return row?.gone === 1;
}

const listed: Statement = {
  name: 'listed_run_jobs',
  text: `SELECT repository, expected_ms::text AS "expectedMs", kind FROM run_jobs
    WHERE run_id = $1::int AND kind IN ('repository', 'left_out') ORDER BY kind, position, id`,
};

/** A repository of a run. */
export interface ListedJob {
  repository: string;
  /** A number of milliseconds; null if unknown. */
  expectedMs: string | null;
  kind: 'repository' | 'left_out';
}

/** The repositories of a run, including those that it leaves out. */
export function listRunJobs(db: Database, runId: number): Promise<ListedJob[]> {
  return db.query<ListedJob>(listed, [runId]);
}

const addFound: Statement = {
  name: 'add_found_run_job',
  text: `INSERT INTO run_jobs (run_id, kind, repository, claimed_by, lease_until, tries)
    SELECT $1::int, 'found', $3, $2, now() + ${jobLease}, 1
    WHERE EXISTS (SELECT FROM backup_runs WHERE id = $1::int AND ${isActive})
    ON CONFLICT (run_id, kind, repository) DO NOTHING`,
};

/** Adds a job, held by the member from the start, for a repository whose result is already known. Safe to repeat. */
export async function addHeldJob(
  db: Database,
  { runId, id }: Pick<Member, 'runId' | 'id'>,
  repository: string,
): Promise<void> {
  await db.query(addFound, [runId, id, repository]);
}

import type { Database, Statement } from '../../database/database.ts';

/** Whether a store has the newest version of a repository's archive. */
export interface NewStoring {
  repository: string;
  /** The address of the store, without parameters. */
  store: string;
  /** The newest version; null for an archive without versions. */
  version: number | null;
  /** Why the store does not have it, for people; empty if it has. */
  reason: string;
  /** What that means. Default: null, the store has it. */
  fault?: StoringFault | null | undefined;
}

/** `unreached`: the store could not be reached, but as far as is known it has everything. `lacking`: it has not. */
export const storingFaults = ['unreached', 'lacking'] as const;
export type StoringFault = (typeof storingFaults)[number];

const upsert: Statement = {
  name: 'record_storing',
  text: `INSERT INTO archive_stores AS known (repo_full_name, store, version, stored_at, failing_since, reason, tried_at, fault)
    VALUES ($1, $2, CASE WHEN $4 = '' THEN $3::int END, CASE WHEN $4 = '' THEN now() END,
      CASE WHEN $4 <> '' THEN now() END, $4, now(), $5)
    ON CONFLICT (repo_full_name, store) DO UPDATE SET
      version = CASE WHEN $4 = '' THEN excluded.version ELSE known.version END,
      stored_at = CASE WHEN $4 = '' THEN excluded.stored_at ELSE known.stored_at END,
      failing_since = CASE WHEN $4 <> '' THEN coalesce(known.failing_since, excluded.failing_since) END,
      reason = excluded.reason, fault = excluded.fault, tried_at = excluded.tried_at, unused_since = NULL`,
};

/** Records that a store has an archive with all its versions, or why it does not. */
export async function recordStoring(
  db: Database,
  { repository, store, version, reason, fault = null }: NewStoring,
): Promise<void> {
  await db.query(upsert, [repository, store, version, reason, fault]);
}

/** A store that has a repository's newest version, according to a listing of the store. */
export type SeenStoring = Omit<NewStoring, 'reason' | 'fault'>;

/** Which stores a run uses for the repositories that it backs up. */
export interface UsedStores {
  repositories: readonly string[];
  /** Their addresses, without parameters. */
  stores: readonly string[];
  /** The id of the machine, in its DATA_DIR. */
  machine: string;
}

// A store is used while any machine that still reports uses it: a machine without it says nothing about the others. One
// that a machine has given up is so for all repositories, also for those that its run leaves out.
const use: Statement = {
  name: 'record_used_stores',
  text: `UPDATE archive_stores AS known SET used_by = next.used_by,
      unused_since = CASE WHEN next.used_by = '{}' THEN coalesce(known.unused_since, $3::timestamptz, now()) END
    FROM (
      SELECT repo_full_name, store, ARRAY(
          SELECT machine.machine FROM unnest(used_by) AS machine(machine) WHERE machine.machine <> $4 AND EXISTS (
            SELECT FROM archive_disks AS disk WHERE disk.machine = machine.machine
              AND measured_at > now() - interval '7 days'
          )
        ) || CASE WHEN store = ANY($2::text[]) THEN ARRAY[$4::text] ELSE '{}' END AS used_by
      FROM archive_stores
      WHERE lower(repo_full_name) IN (SELECT lower(name) FROM unnest($1::text[]) AS name)
        OR ($4 = ANY(used_by) AND NOT store = ANY($2::text[]))
    ) AS next
    WHERE known.repo_full_name = next.repo_full_name AND known.store = next.store
      AND (known.used_by IS DISTINCT FROM next.used_by OR (known.unused_since IS NULL) = (next.used_by = '{}'))`,
};

/** Records which stores a machine uses, and which no machine uses any more, at a time (ISO 8601); null means now. */
export async function recordUsed(
  db: Database,
  { repositories, stores, machine }: UsedStores,
  at: string | null,
): Promise<void> {
  await db.query(use, [repositories, stores, at, machine]);
}

// Nothing was stored now: `stored_at` stays if the version was known to be there. A spool is delivered late, and says
// nothing about a failure since.
const clear: Statement = {
  name: 'record_seen_storing',
  text: `UPDATE archive_stores SET failing_since = NULL, reason = '', fault = NULL, version = $3::int,
      stored_at = CASE WHEN version IS NOT DISTINCT FROM $3::int THEN coalesce(stored_at, now()) ELSE now() END
    WHERE repo_full_name = $1 AND store = $2 AND failing_since IS NOT NULL
      AND coalesce(tried_at, failing_since) <= coalesce($4::timestamptz, now())`,
};

/** Ends the failure of a store at a time (ISO 8601); null means now. */
export async function recordSeen(
  db: Database,
  { repository, store, version }: SeenStoring,
  at: string | null,
): Promise<void> {
  await db.query(clear, [repository, store, version, at]);
}

const lack: Statement = {
  name: 'record_store_lack',
  text: `UPDATE archive_stores AS known SET version = NULL, stored_at = NULL, tried_at = now(),
      failing_since = coalesce(failing_since, now()), reason = $3, fault = 'lacking'
    FROM worker_repo_state AS state
    WHERE state.archive_key = ANY($2::text[]) AND known.repo_full_name = state.repo_full_name AND known.store = $1`,
};

/** Records that a store no longer has all of what was stored there of some archives, given by their file names. */
export async function recordLack(
  db: Database,
  { store, archiveKeys }: { store: string; archiveKeys: readonly string[] },
): Promise<void> {
  const reason = `${store}: some of what was stored there is missing or damaged`;
  await db.query(lack, [store, archiveKeys, reason]);
}

/** Failures beyond this limit end with a later run. */
const MAX_FAILING = 100_000;

const selectFailing: Statement = {
  name: 'failing_storings',
  text: `SELECT repo_full_name AS repository, store FROM archive_stores
    WHERE failing_since IS NOT NULL AND store = ANY($1::text[])
    ORDER BY store, repo_full_name LIMIT ${MAX_FAILING}`,
};

/** Lists the repositories that the given stores failed to take, each with its store. */
export function listFailingStorings(
  db: Database,
  stores: readonly string[],
): Promise<Pick<NewStoring, 'repository' | 'store'>[]> {
  return db.query(selectFailing, [stores]);
}

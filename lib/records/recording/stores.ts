import type { Database, Statement } from '../../database/database.ts';

/** Whether a store has the newest version of a repository's archive. */
export interface NewStoring {
  repository: string;
  /** The address of the store, without parameters. */
  store: string;
  /** The newest version; null for an archive without versions. */
  version: number | null;
  /** Why the store does not have it; empty if it has. */
  reason: string;
}

const upsert: Statement = {
  name: 'record_storing',
  text: `INSERT INTO archive_stores AS known (repo_full_name, store, version, stored_at, failing_since, reason, tried_at)
    VALUES ($1, $2, CASE WHEN $4 = '' THEN $3::int END, CASE WHEN $4 = '' THEN now() END,
      CASE WHEN $4 <> '' THEN now() END, $4, now())
    ON CONFLICT (repo_full_name, store) DO UPDATE SET
      version = CASE WHEN $4 = '' THEN excluded.version ELSE known.version END,
      stored_at = CASE WHEN $4 = '' THEN excluded.stored_at ELSE known.stored_at END,
      failing_since = CASE WHEN $4 <> '' THEN coalesce(known.failing_since, excluded.failing_since) END,
      reason = excluded.reason, tried_at = excluded.tried_at`,
};

/** Records that a store has an archive with all its versions, or why it has not. */
export async function recordStoring(
  db: Database,
  { repository, store, version, reason }: NewStoring,
): Promise<void> {
  await db.query(upsert, [repository, store, version, reason]);
}

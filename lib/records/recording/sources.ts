import type { Database, Statement } from '../../database/database.ts';

/** Where a run reads a repository. */
export interface NewSource {
  repository: string;
  /** A path or a URL, without credentials. */
  address: string;
  /** The key of the source that names it; null if it was only given to the run. */
  namedBy?: string | null | undefined;
}

// One statement for all repositories of a run. A run that was delivered late does not replace what a later one saw.
const upsert: Statement = {
  name: 'record_sources',
  text: `INSERT INTO repository_sources AS known (repo_full_name, address, seen_at, named_by)
    SELECT DISTINCT ON (repository) repository, address, least($2::timestamptz, now()), "namedBy"
    FROM jsonb_to_recordset($1::jsonb) AS given (repository text, address text, "namedBy" text)
    ORDER BY repository
    ON CONFLICT (repo_full_name) DO UPDATE SET address = excluded.address,
      seen_at = CASE WHEN known.address = excluded.address THEN known.seen_at ELSE excluded.seen_at END,
      named_by = coalesce(excluded.named_by, CASE WHEN known.address = excluded.address THEN known.named_by END)
    WHERE known.seen_at <= excluded.seen_at AND (known.address <> excluded.address
      OR known.named_by IS DISTINCT FROM coalesce(excluded.named_by, known.named_by))`,
};

/** Records where a run reads its repositories. `at` is ISO 8601; null means now. */
export async function recordSources(
  db: Database,
  sources: readonly NewSource[],
  at: string | null = null,
): Promise<void> {
  await db.query(upsert, [JSON.stringify(sources), at]);
}

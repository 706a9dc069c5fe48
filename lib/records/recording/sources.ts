import type { Database, Statement } from '../../database/database.ts';

/** Where a run reads a repository. */
export interface NewSource {
  repository: string;
  /** A path or a URL, without credentials. */
  address: string;
}

// One statement for all repositories of a run. A run that was delivered late does not replace what a later one saw.
const upsert: Statement = {
  name: 'record_sources',
  text: `INSERT INTO repository_sources AS known (repo_full_name, address, seen_at)
    SELECT DISTINCT ON (repository) repository, address, least($2::timestamptz, now())
    FROM jsonb_to_recordset($1::jsonb) AS given (repository text, address text)
    ORDER BY repository
    ON CONFLICT (repo_full_name) DO UPDATE SET address = excluded.address, seen_at = excluded.seen_at
    WHERE known.seen_at <= excluded.seen_at AND known.address <> excluded.address`,
};

/** Records where a run reads its repositories. `at` is ISO 8601; null means now. */
export async function recordSources(
  db: Database,
  sources: readonly NewSource[],
  at: string | null = null,
): Promise<void> {
  await db.query(upsert, [JSON.stringify(sources), at]);
}

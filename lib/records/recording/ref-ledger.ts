import type { Database, Statement } from '../../database/database.ts';
import { ledgerName } from '../anomalies/ref-names.ts';

/** Number of refs that one statement writes. */
const REFS_AT_ONCE = 10_000;

/** Time limit for a statement over all refs of a repository; there may be hundreds of thousands. */
export const LEDGER_TIMEOUT_MS = 2 * 60_000;

/** How a version changed where refs point. */
export interface RefChanges {
  /**
   * SHA-256 of the manifest of the version that the changes are relative to. Null: `refs` are all refs of the version,
   * and any other ref was removed.
   */
  since: string | null;
  /** Object ids by ref name; null for a ref that was removed. */
  refs: ReadonlyMap<string, string | null>;
}

/** Sorts after every ref name, which is HEAD or begins with `refs/`. */
const LAST_NAME = '\u{10ffff}';

// Closes the row of each given ref that points elsewhere now, and opens a new one. Refs that are not given and have
// names above $5 up to $6 were removed. Repeating it changes nothing.
const changeRefs: Statement = {
  name: 'change_archive_refs',
  text: `WITH given AS (
      SELECT name, object_id FROM unnest($3::text[], $4::text[]) AS given (name, object_id)
    ), changed AS (
      SELECT given.*, before.from_version FROM given LEFT JOIN LATERAL (
        SELECT * FROM (
          SELECT from_version, to_version, object_id FROM archive_refs AS ref
          WHERE ref.repo_full_name = $1 AND ref.name COLLATE "C" = given.name
          ORDER BY ref.from_version DESC LIMIT 1
        ) AS latest WHERE to_version IS NULL
      ) AS before ON true
      WHERE before.object_id IS DISTINCT FROM given.object_id
    ), closed AS (
      UPDATE archive_refs AS ref SET to_version = $2::int FROM changed
      WHERE ref.repo_full_name = $1 AND ref.name COLLATE "C" = changed.name
        AND ref.from_version = changed.from_version
    ), gone AS (
      UPDATE archive_refs AS ref SET to_version = $2::int
      WHERE ref.repo_full_name = $1 AND ref.to_version IS NULL
        AND ref.name COLLATE "C" > $5 AND ref.name COLLATE "C" <= $6
        AND ref.name NOT IN (SELECT name FROM given)
    )
    INSERT INTO archive_refs (repo_full_name, name, object_id, from_version)
    SELECT $1, name, object_id, $2::int FROM changed WHERE object_id IS NOT NULL
    ON CONFLICT (repo_full_name, name COLLATE "C", from_version) DO UPDATE
    SET object_id = excluded.object_id, to_version = NULL`,
};

/**
 * Writes the changes of a version, a bounded number of refs at a time. Idempotent, even after an interruption at any
 * point.
 */
export async function changeLedger(
  db: Database,
  repository: string,
  version: number,
  { since, refs }: RefChanges,
): Promise<void> {
  const changes = [...refs].map(([name, objectId]) => ({ name: ledgerName(name), objectId }));
  const isComplete = since === null;
  if (isComplete) sortByBytes(changes);
  // With no refs at all, one statement closes all rows.
  const batches = Math.max(Math.ceil(changes.length / REFS_AT_ONCE), isComplete ? 1 : 0);
  let above = isComplete ? '' : LAST_NAME;
  for (let n = 0; n < batches; n++) {
    const batch = changes.slice(n * REFS_AT_ONCE, (n + 1) * REFS_AT_ONCE);
    const names = batch.map(({ name }) => name);
    const objectIds = batch.map(({ objectId }) => objectId);
    const upTo = n + 1 < batches ? (names.at(-1) ?? LAST_NAME) : LAST_NAME;
    const values = [repository, version, names, objectIds, above, upTo];
    await db.query(changeRefs, values, { timeoutMs: LEDGER_TIMEOUT_MS });
    if (isComplete) above = upTo;
  }
}

/** Sorts as the database does, so that each batch covers a range of names. */
function sortByBytes(changes: { name: string }[]): void {
  const bytes = new Map(changes.map(({ name }) => [name, Buffer.from(name)]));
  const none = Buffer.alloc(0);
  changes.sort((a, b) => Buffer.compare(bytes.get(a.name) ?? none, bytes.get(b.name) ?? none));
}

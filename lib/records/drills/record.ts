import type { Database, Statement } from '../../database/database.ts';
import type { NewDrill } from './new-drill.ts';

// Triggers link the row to the one before it. A failed drill is logged in the same statement, so that the row and the
// log line exist together.
const insert: Statement = {
  name: 'record_drill',
  text: `WITH drill AS (
      INSERT INTO restore_drills (repository_name, version, storage, started_at, duration_ms, bytes, outcome, reason, evidence)
      VALUES ($1, $2::int, $3, $4::timestamptz, $5::bigint, $6::bigint, $7, $8, $9::jsonb)
      ON CONFLICT (repository_name, started_at) DO NOTHING RETURNING outcome, reason
    )
    INSERT INTO execution_logs (run_id, level, message, repository)
    SELECT $10::int, 'error', 'a restore drill failed (' || $3 || '): ' || reason, $1
    FROM drill WHERE outcome = 'failed'`,
};

/** Adds a drill to the ledger. A failed one is also logged, in the run that it followed, if any. Idempotent. */
export async function recordDrill(
  db: Database,
  drill: NewDrill,
  runId: number | null,
): Promise<void> {
  await db.query(insert, [
    drill.repository,
    drill.version,
    drill.storage,
    drill.startedAt,
    drill.durationMs,
    drill.bytes,
    drill.outcome,
    drill.reason,
    JSON.stringify(drill.evidence),
    runId,
  ]);
}

const recorded: Statement = {
  name: 'recorded_version_of_drill',
  text: `SELECT manifest_sha256 AS "manifestSha256", refs_sha256 AS "refsSha256" FROM archive_versions
    WHERE lower(repo_full_name) = lower($1) AND version = $2::int AND pruned_at IS NULL
    ORDER BY repo_full_name = $1 DESC LIMIT 1`,
};

/** What the database knows about a version. */
export interface VersionHashes {
  manifestSha256: string;
  /** Empty if it was not recorded. */
  refsSha256: string;
}

/** What is recorded about a version that can be restored; null if there is nothing. */
export async function readRecordedVersion(
  db: Database,
  repository: string,
  version: number,
): Promise<VersionHashes | null> {
  const [row] = await db.query<VersionHashes>(recorded, [repository, version]);
  return row ?? null;
}

import { MAX_VERSIONS } from '../../archives/base/note.ts';
import type { Database, Statement } from '../../database/database.ts';
import { cutText } from '../../security/redaction/cut-text.ts';
import type { NewAnomaly } from '../anomalies/kinds.ts';
import { newAnomaly } from '../anomalies/new-anomaly.ts';
import { anomaliesJson, insertAnomalies } from './anomalies.ts';
import { changeLedger, LEDGER_TIMEOUT_MS, type RefChanges } from './ref-ledger.ts';

const MAX_WARNING = 1_000;

/** A version of a repository's archive. */
export interface NewVersion {
  repository: string;
  version: number;
  runId: number | null;
  /** When it was made, ISO 8601. */
  at: string;
  /** The branch of HEAD; null if HEAD was detached or its branch is unknown. */
  headBranch: string | null;
  refCount: number;
  /** From digestRefs. */
  refsSha256: string;
  manifestSha256: string;
  /** The file name of the full bundle. */
  archiveKey: string;
  /** How many files of the archive the version needs. */
  files: number;
  /** The size of the whole archive. */
  sizeBytes: number;
  /** What the version added to it. */
  newBytes: number;
  /** For example that history was rewritten. */
  warning: string | null;
  /** What a person should look at. If it is empty, the warning, if any, is recorded as an anomaly instead. */
  anomalies: readonly NewAnomaly[];
  changes: RefChanges;
}

/** A recorded version, and the manifest that describes it. */
export interface VersionHash {
  version: number;
  manifestSha256: string;
}

/** A version that is recorded as restorable. */
export interface RestorableVersion extends VersionHash {
  warning: string | null;
}

const newestVersion: Statement = {
  name: 'newest_archive_version',
  text: `SELECT version, manifest_sha256 AS "manifestSha256" FROM archive_versions
    WHERE repo_full_name = $1 ORDER BY version DESC LIMIT 1`,
};

/** The newest recorded version of a repository; null when there is none. */
export async function readNewestVersion(
  db: Database,
  repository: string,
): Promise<VersionHash | null> {
  const [newest] = await db.query<VersionHash>(newestVersion, [repository]);
  return newest ?? null;
}

// Resets the ledger to the version before, whatever an interrupted recording of this one left behind. Versions of this
// number or above belong to a lost archive, unless the manifest is the same.
const prepare: Statement = {
  name: 'prepare_archive_version',
  text: `WITH base AS (
      SELECT version, manifest_sha256, pruned_at FROM archive_versions
      WHERE repo_full_name = $1 AND version < $2::int ORDER BY version DESC LIMIT 1
    ), recorded AS (
      SELECT FROM archive_versions
      WHERE repo_full_name = $1 AND version = $2::int AND manifest_sha256 = $3
    ), fitting AS (
      SELECT coalesce((SELECT version FROM base), 0) AS base WHERE NOT EXISTS (SELECT FROM recorded)
        AND ($4::text IS NULL
          OR EXISTS (SELECT FROM base WHERE manifest_sha256 = $4 AND pruned_at IS NULL))
    ), replaced AS (
      DELETE FROM archive_versions USING fitting
      WHERE repo_full_name = $1 AND version > fitting.base
    ), dropped AS (
      DELETE FROM archive_refs USING fitting
      WHERE repo_full_name = $1 AND from_version > fitting.base
    ), forgotten AS (
      DELETE FROM anomalies USING fitting
      WHERE repo_full_name = $1 AND version > fitting.base
    ), reopened AS (
      UPDATE archive_refs SET to_version = NULL FROM fitting
      WHERE repo_full_name = $1 AND from_version <= fitting.base AND to_version > fitting.base
    )
    SELECT (EXISTS (SELECT FROM recorded))::int AS recorded, (EXISTS (SELECT FROM fitting))::int AS fitting`,
};

// Runs last, so that a version that can be read has all its refs.
const insertVersion: Statement = {
  name: 'record_archive_version',
  text: `WITH seen AS (
      ${insertAnomalies({ repository: '$1', run: '$3', version: '$2', time: '$4', json: '$14' })}
    )
    INSERT INTO archive_versions (repo_full_name, version, run_id, created_at, head_branch, ref_count,
      refs_sha256, manifest_sha256, archive_key, files, size_bytes, new_bytes, warning)
    VALUES ($1, $2::int, $3::int, $4::timestamptz, $5, $6::int, $7, $8, $9, $10::int, $11::bigint, $12::bigint, $13)
    ON CONFLICT (repo_full_name, version) DO UPDATE SET run_id = excluded.run_id,
      created_at = excluded.created_at, head_branch = excluded.head_branch,
      ref_count = excluded.ref_count, refs_sha256 = excluded.refs_sha256,
      manifest_sha256 = excluded.manifest_sha256, archive_key = excluded.archive_key,
      files = excluded.files, size_bytes = excluded.size_bytes, new_bytes = excluded.new_bytes,
      warning = excluded.warning`,
};

/**
 * Records a version and where its refs point. Idempotent, even when retried after an interruption at any point; readers
 * never see half a version. Returns false and records nothing when the changes are not relative to the version recorded
 * before it: pass all refs then.
 *
 * Replaces recorded versions of the same number or above that have other manifests. To keep those of a lost archive,
 * number the first version of the new one above `readNewestVersion`.
 */
export async function recordVersion(db: Database, version: NewVersion): Promise<boolean> {
  const { repository, manifestSha256, changes } = version;
  const [found] = await db.query<{ recorded: number; fitting: number }>(
    prepare,
    [repository, version.version, manifestSha256, changes.since],
    { timeoutMs: LEDGER_TIMEOUT_MS },
  );
  if (found?.fitting === 1) await changeLedger(db, repository, version.version, changes);
  else if (found?.recorded !== 1) return false;
  await db.query(insertVersion, [
    repository,
    version.version,
    version.runId,
    version.at,
    version.headBranch,
    version.refCount,
    version.refsSha256,
    manifestSha256,
    version.archiveKey,
    version.files,
    version.sizeBytes,
    version.newBytes,
    version.warning,
    anomaliesJson(anomaliesOf(version)),
  ]);
  return true;
}

/** The anomaly of a version about which only a warning is known. */
export function notedAnomaly(warning: string): NewAnomaly {
  return { ...newAnomaly('noted', [['warning', '', cutText(warning, MAX_WARNING)]]), before: {} };
}

function anomaliesOf({ anomalies, warning }: NewVersion): readonly NewAnomaly[] {
  return anomalies.length > 0 || warning === null ? anomalies : [notedAnomaly(warning)];
}

const restorable: Statement = {
  name: 'restorable_archive_versions',
  text: `SELECT version, manifest_sha256 AS "manifestSha256", warning FROM archive_versions
    WHERE repo_full_name = $1 AND pruned_at IS NULL ORDER BY version LIMIT ${MAX_VERSIONS}`,
};

/** The versions of a repository that are recorded as restorable, oldest first. */
export function listRestorable(db: Database, repository: string): Promise<RestorableVersion[]> {
  return db.query<RestorableVersion>(restorable, [repository]);
}

// Deletes the closed rows whose range contains no kept version. Open rows are needed while the repository has a
// version.
const prune: Statement = {
  name: 'prune_archive_versions',
  text: `WITH pruned AS (
      UPDATE archive_versions SET pruned_at = now()
      WHERE repo_full_name = $1 AND version = ANY ($2::int[]) AND pruned_at IS NULL
    ), kept AS (
      SELECT ARRAY[0] || coalesce(array_agg(version ORDER BY version), '{}') AS versions
      FROM archive_versions
      WHERE repo_full_name = $1 AND pruned_at IS NULL AND NOT version = ANY ($2::int[])
    )
    DELETE FROM archive_refs
    WHERE repo_full_name = $1 AND to_version IS NOT NULL
      AND width_bucket(from_version - 1, (SELECT versions FROM kept))
        = width_bucket(to_version - 1, (SELECT versions FROM kept))`,
};

/**
 * Records that versions can no longer be restored, and deletes where refs pointed in these versions alone. Idempotent.
 */
export async function markPruned(
  db: Database,
  repository: string,
  versions: readonly number[],
): Promise<void> {
  await db.query(prune, [repository, versions], { timeoutMs: LEDGER_TIMEOUT_MS });
}

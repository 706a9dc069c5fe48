import type { Database, Statement } from '../../database/database.ts';
import { newestForgotten } from '../base/newest-results.ts';
import type { VersionHash } from './versions.ts';

/**
 * SQL for whether somebody has forgotten the repository of a row `state` of worker_repo_state when its archive was
 * missing already: a known loss. `forgotten` is a CTE or table of the forgotten repositories, `newestForgotten`.
 */
export const isKnownLoss = (forgotten: string) => `EXISTS (
  SELECT FROM ${forgotten} AS known JOIN forgotten_repositories AS given USING (repo_full_name)
  WHERE known.repo_full_name = state.repo_full_name AND given.forgotten_at >= state.archive_missing_since
)`;

/** SQL that follows SET: an archive that was just written is not missing. Which machine has it, its result says. */
export const archiveIsThere = `archive_seen_at = excluded.updated_at, archive_seen_by = NULL,
  archive_missing_since = NULL, archive_missing = NULL, archive_missing_kind = NULL`;

/** An archive that was recorded, and so has to be in the archive folder. */
export interface ExpectedArchive {
  repository: string;
  /** The file name of the archive. */
  archiveKey: string;
  /** Whether somebody has forgotten it: nothing more is recorded as its result. */
  isForgotten: boolean;
  /** Whether it is in the archive folder of another machine that still backs up. */
  isElsewhere: boolean;
  /** Whether it was missing already when somebody forgot the repository. */
  isKnownLoss: boolean;
  /** Whether it was missing already when a run last looked. */
  wasMissing: boolean;
  /** The stores that have a copy. */
  copies: string[];
  /** The newest version that is recorded as kept in it; null if none is, as for an archive of an earlier release. */
  newest: VersionHash | null;
}

/** A machine that has not reported for a week is no longer in use, as for its disk. */
const isInUse = `EXISTS (
  SELECT FROM archive_disks WHERE machine = coalesce(state.archive_seen_by, state.mirror_machine)
    AND measured_at > now() - interval '7 days'
)`;

// Archives of other writers have other formats.
const selectExpected: Statement = {
  name: 'expected_archives',
  text: `WITH ${newestForgotten}, copied AS (
      SELECT lower(repo_full_name) AS key, json_agg(DISTINCT store) AS stores
      FROM archive_stores WHERE stored_at IS NOT NULL GROUP BY 1
    )
    SELECT repo_full_name AS repository, archive_key AS "archiveKey",
      (repo_full_name IN (SELECT repo_full_name FROM newest))::int AS forgotten,
      (coalesce(archive_seen_by, mirror_machine) <> $1 AND ${isInUse})::int AS elsewhere,
      (${isKnownLoss('newest')})::int AS known, (archive_missing_since IS NOT NULL)::int AS missing,
      coalesce(stores, '[]')::text AS copies, kept.version, kept.sha256
    FROM worker_repo_state AS state LEFT JOIN copied ON copied.key = lower(repo_full_name)
      LEFT JOIN LATERAL (
        SELECT version, manifest_sha256 AS sha256 FROM archive_versions AS one
        WHERE one.repo_full_name = state.repo_full_name AND one.archive_key = state.archive_key
          AND pruned_at IS NULL ORDER BY version DESC LIMIT 1
      ) AS kept ON true
    WHERE archive_key LIKE '%.bundle' ORDER BY repo_full_name`,
};

interface ExpectedRow {
  repository: string;
  archiveKey: string;
  forgotten: number;
  elsewhere: number | null;
  known: number;
  missing: number;
  copies: string;
  version: number | null;
  sha256: string | null;
}

/** The recorded archives, including those of lost, excluded and forgotten repositories. */
export async function listExpected(db: Database, machine: string): Promise<ExpectedArchive[]> {
  const rows = await db.query<ExpectedRow>(selectExpected, [machine]);
  return rows.map(({ repository, archiveKey, forgotten, elsewhere, known, missing, ...row }) => ({
    ...{ repository, archiveKey, isForgotten: forgotten === 1, isElsewhere: elsewhere === 1 },
    ...{ isKnownLoss: known === 1, wasMissing: missing === 1 },
    copies: JSON.parse(row.copies) as string[],
    newest:
      row.version === null || row.sha256 === null
        ? null
        : { version: row.version, manifestSha256: row.sha256 },
  }));
}

/**
 * What is missing of an archive:
 *
 * - `bundle`: its full bundle, without which nothing can be restored.
 * - `part`: only an increment, the note or the manifest of a version: something can be restored from the other files.
 * - `folder`: everything, like all other archives of the folder.
 */
export type MissingKind = 'bundle' | 'part' | 'folder';

/** What a look for an archive did not find. */
export interface MissingFile {
  kind: MissingKind;
  /** Which file it is, and what is wrong with it, for people. */
  text: string;
}

/** SQL for whether only a part of the archive of a row of worker_repo_state is missing. */
export const isPartMissing = `(archive_missing_since IS NOT NULL AND coalesce(archive_missing_kind = 'part', false))`;

/** What a run found when it looked for an archive. */
export interface ArchiveLook {
  repository: string;
  archiveKey: string;
  /** Null if all files are there. */
  missing: MissingFile | null;
}

/** How many archives one statement records: the embedded database works on one statement at a time. */
const AT_ONCE = 1_000;

const update: Statement = {
  name: 'record_archive_looks',
  text: `UPDATE worker_repo_state AS state SET
      archive_seen_at = CASE WHEN look.missing IS NULL THEN now() ELSE state.archive_seen_at END,
      archive_seen_by = CASE WHEN look.missing IS NULL THEN $4 ELSE state.archive_seen_by END,
      archive_missing_since = CASE WHEN look.missing IS NOT NULL THEN coalesce(state.archive_missing_since, now()) END,
      archive_missing = look.missing, archive_missing_kind = look.kind
    FROM unnest($1::text[], $2::text[], $3::text[], $5::text[]) AS look (repository, archive_key, missing, kind)
    WHERE state.repo_full_name = look.repository AND state.archive_key = look.archive_key`,
};

/** Records what a machine found in its archive folder. Idempotent. */
export async function recordLooks(
  db: Database,
  machine: string,
  looks: readonly ArchiveLook[],
): Promise<void> {
  for (let start = 0; start < looks.length; start += AT_ONCE) {
    const some = looks.slice(start, start + AT_ONCE);
    await db.query(update, [
      some.map(({ repository }) => repository),
      some.map(({ archiveKey }) => archiveKey),
      some.map(({ missing }) => missing?.text ?? null),
      machine,
      some.map(({ missing }) => missing?.kind ?? null),
    ]);
  }
}

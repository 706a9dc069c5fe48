import type { Database, Statement } from '../../database/database.ts';
import { cutTextSql } from '../../security/redaction/cut-text.ts';
import {
  iso,
  jsonArray,
  jsonObject,
  type Page,
  type PageRequest,
  pageOffset,
} from '../base/page.ts';

const MAX_WARNING_LENGTH = 1_000;

/** The columns of an ArchiveVersion in order. */
const versionColumns = `
  version, run_id, ${iso('created_at')} AS created_at, head_branch, ref_count, refs_sha256,
  manifest_sha256, files, size_bytes,
  -- Earlier releases took the size of a rewritten archive for what was new in it.
  CASE WHEN version = 1 OR new_bytes < size_bytes THEN new_bytes END AS new_bytes,
  nullif(${cutTextSql('warning', MAX_WARNING_LENGTH)}, '') AS warning, ${iso('pruned_at')} AS pruned_at`;

/** SQL for a repository's name as its versions spell it: the exact spelling if there are several, else the newest. */
const spelling = (name: string) => `SELECT repo_full_name FROM archive_versions
  WHERE lower(repo_full_name) = lower(${name})
  ORDER BY repo_full_name = ${name} DESC, created_at DESC, version DESC LIMIT 1`;

/** Selects versions. */
export interface VersionSelection {
  /** Only versions below this one. */
  before?: number | undefined;
  /** Only versions made at this time or earlier, in ISO 8601. */
  until?: string | undefined;
  /** Whether to include versions that can no longer be restored. */
  withPruned: boolean;
}

const versions: Statement = {
  name: 'repository_versions',
  text: `WITH chosen AS (${spelling('$3')}), fitting AS (
      SELECT * FROM archive_versions
      WHERE repo_full_name = (SELECT repo_full_name FROM chosen)
        AND ($4::bigint IS NULL OR version < $4::bigint) AND (pruned_at IS NULL OR $5::boolean)
        AND ($6::timestamptz IS NULL OR created_at <= $6::timestamptz)
    )
    SELECT ${jsonArray(`SELECT ${versionColumns} FROM fitting
        ORDER BY fitting.version DESC LIMIT $1::bigint OFFSET $2::bigint`)} AS items,
      (SELECT count(*) FROM fitting)::text AS total,
      (EXISTS (SELECT FROM chosen) OR EXISTS (
        SELECT FROM newest_results WHERE lower(repo_full_name) = lower($3)
      ))::int AS known`,
};

/**
 * The versions of a repository, newest first, by its name in any letter case; null when there is no such
 * repository.
 */
export async function listVersions(
  db: Database,
  name: string,
  request: PageRequest,
  { before, until, withPruned }: VersionSelection,
): Promise<Page | null> {
  const selected = [before ?? null, withPruned, until ?? null];
  const values = [request.limit, pageOffset(request), name, ...selected];
  type Found = { items: string; total: string; known: number };
  const [row] = await db.query<Found>(versions, values);
  return row?.known === 1 ? { items: row.items, totalItems: Number(row.total) } : null;
}

/** Selects refs of a version. */
export interface RefSelection {
  /** Part of the name, case-insensitive. */
  text?: string | undefined;
  /** What the name starts with. */
  prefix?: string | undefined;
  /** Only names after this one, in byte order. */
  after?: string | undefined;
  limit: number;
}

/** A prefix followed by this sorts after every ref name with that prefix. */
const LAST_CHARACTER = '\u{10ffff}';

// The index finds the names from a place on. Of each, the one row whose range contains the version counts.
const refs: Statement = {
  name: 'version_refs',
  text: `WITH chosen AS (${spelling('$1')}), version AS (
      SELECT * FROM archive_versions
      WHERE repo_full_name = (SELECT repo_full_name FROM chosen) AND version = $2::bigint
    ), found AS (
      SELECT name, object_id, row_number() OVER (ORDER BY name COLLATE "C") AS place FROM (
        SELECT name, object_id FROM archive_refs AS ref
        WHERE repo_full_name = (SELECT repo_full_name FROM version WHERE pruned_at IS NULL)
          AND name COLLATE "C" > $4 AND name COLLATE "C" >= $5 AND name COLLATE "C" < $6
          AND from_version <= $2::bigint AND (to_version IS NULL OR to_version > $2::bigint)
          AND strpos(lower(name), lower($7)) > 0
        ORDER BY name COLLATE "C" LIMIT $3::bigint + 1
      ) AS ref
    )
    SELECT ${jsonObject(`
      SELECT (SELECT row_to_json(item) FROM (SELECT ${versionColumns} FROM version) AS item) AS version,
        (SELECT coalesce(json_agg(item), '[]') FROM (
          SELECT name, object_id FROM found WHERE place <= $3::bigint ORDER BY place
        ) AS item) AS data,
        (SELECT name FROM found WHERE place = $3::bigint
          AND EXISTS (SELECT FROM found WHERE place > $3::bigint)) AS next
      FROM version`)} AS item,
      (EXISTS (SELECT FROM version WHERE pruned_at IS NOT NULL))::int AS pruned`,
};

/**
 * A version with where its refs pointed, sorted by name, as JSON. `next` is the name to continue after, null at the
 * end. Null when there is no such version; `pruned` when its refs are no longer known.
 */
export async function readVersionRefs(
  db: Database,
  name: string,
  version: number,
  { text = '', prefix = '', after = '', limit }: RefSelection,
): Promise<{ item: string } | 'pruned' | null> {
  type Found = { item: string | null; pruned: number };
  const values = [name, version, limit, after, prefix, prefix + LAST_CHARACTER, text];
  const [row] = await db.query<Found>(refs, values);
  if (row?.pruned === 1) return 'pruned';
  return row?.item ? { item: row.item } : null;
}

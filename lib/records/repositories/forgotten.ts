import type { Database, Statement } from '../../database/database.ts';
import { forgetting, newestForgotten, newestOfAll, newestResults } from '../base/newest-results.ts';
import { iso } from '../base/page.ts';
import { wasRead as wasReadSql } from '../base/was-read.ts';
import type { MissingFile, MissingKind } from '../recording/archive-looks.ts';

/** SQL for the column `forgotten` of a row `repository` with its newest result; null for one that is tracked. */
export const forgottenColumn = `(SELECT row_to_json(item) FROM (
    SELECT ${iso('forgotten.forgotten_at')} AS at, forgotten.forgotten_by AS by
    ${forgetting('repository.repo_full_name', 'repository.result_id')}
  ) AS item) AS forgotten`;

/** SQL for whether a row has one of the names in `$1`, in any letter case. */
const isNamed = 'lower(repo_full_name) IN (SELECT lower(name) FROM unnest($1::text[]) AS name)';

// Records every spelling of each name, each with what is known about it now.
const forget: Statement = {
  name: 'forget_repositories',
  text: `WITH ${newestOfAll}, chosen AS (SELECT * FROM newest WHERE ${isNamed}), forgotten AS (
      INSERT INTO forgotten_repositories (repo_full_name, result_id, checked_at, forgotten_by)
      SELECT chosen.repo_full_name, chosen.result_id, state.checked_at, $2
      FROM chosen LEFT JOIN worker_repo_state AS state USING (repo_full_name)
      ON CONFLICT (repo_full_name) DO UPDATE SET result_id = excluded.result_id,
        checked_at = excluded.checked_at, forgotten_at = now(), forgotten_by = excluded.forgotten_by
      RETURNING repo_full_name
    )
    SELECT repo_full_name AS name FROM forgotten ORDER BY repo_full_name`,
};

/**
 * Forgets repositories, by their names in any letter case, until a run records something about them: they are no longer
 * tracked, but everything recorded stays. All or none. Returns the names as they are recorded, without those of which
 * nothing is known.
 */
export async function forgetRepositories(
  db: Database,
  names: readonly string[],
  by: string,
): Promise<string[]> {
  const rows = await db.query<{ name: string }>(forget, [names, by]);
  return rows.map(({ name }) => name);
}

const find: Statement = {
  name: 'find_repositories',
  text: `WITH ${newestOfAll} SELECT repo_full_name AS name FROM newest WHERE ${isNamed} ORDER BY repo_full_name`,
};

/** The recorded spellings of names, of tracked and of forgotten repositories. */
export async function findRepositories(db: Database, names: readonly string[]): Promise<string[]> {
  const rows = await db.query<{ name: string }>(find, [names]);
  return rows.map(({ name }) => name);
}

/** What is kept of a repository, as far as runs have recorded. */
export interface KeptRepository {
  name: string;
  /** The file name of its archive; null if none is recorded. */
  archiveKey: string | null;
  /** What is missing of the archive; null if nothing is, as far as is known. */
  missing: MissingFile | null;
  /** Whether several machines back up, so that the archive may be in the folder of another. */
  isElsewhere: boolean;
  /** Whether it was ever backed up. */
  wasRead: boolean;
  /** The stores that have a copy. */
  copies: string[];
}

const kept: Statement = {
  name: 'kept_repositories',
  text: `WITH ${newestResults}, copied AS (
      SELECT lower(repo_full_name) AS key, json_agg(DISTINCT store) AS stores
      FROM archive_stores WHERE stored_at IS NOT NULL GROUP BY 1
    )
    SELECT repo_full_name AS name, nullif(state.archive_key, '') AS "archiveKey", archive_missing AS missing,
      coalesce(archive_missing_kind, 'bundle') AS kind,
      (${wasReadSql('newest')})::int AS read,
      (SELECT count(DISTINCT machine) > 1 FROM archive_disks
        WHERE measured_at > now() - interval '7 days')::int AS elsewhere,
      coalesce(copied.stores::text, '[]') AS copies
    FROM newest LEFT JOIN worker_repo_state AS state USING (repo_full_name)
    LEFT JOIN copied ON copied.key = lower(repo_full_name)
    WHERE $1::text[] IS NULL OR ${isNamed} ORDER BY repo_full_name`,
};

/** What is kept of the tracked repositories, or of those with some names in any letter case. */
export async function listKept(
  db: Database,
  names: readonly string[] | null,
): Promise<KeptRepository[]> {
  const rows = await db.query<
    Omit<KeptRepository, 'missing' | 'copies' | 'wasRead' | 'isElsewhere'> & {
      missing: string | null;
      kind: MissingKind;
      copies: string;
      read: number;
      elsewhere: number;
    }
  >(kept, [names]);
  return rows.map(({ missing, kind, copies, read, elsewhere, ...row }) => ({
    ...{ ...row, wasRead: read === 1, isElsewhere: elsewhere === 1 },
    missing: missing === null ? null : { kind, text: missing },
    copies: JSON.parse(copies) as string[],
  }));
}

/** What is kept of a repository now. */
export interface LookedAt extends KeptRepository {
  /** Whether nothing is kept, in any spelling of the name. */
  isNothingKept: boolean;
}

/**
 * Looks what is kept of repositories now, given with all spellings of their names: an archive may have gone since the
 * last run. `findMissing` says what is missing of an archive, null if nothing.
 */
export async function lookAtKept(
  recorded: readonly KeptRepository[],
  findMissing: (name: string, archiveKey: string) => Promise<MissingFile | null>,
): Promise<LookedAt[]> {
  const seen: KeptRepository[] = [];
  const kept = new Set<string>();
  for (const one of recorded) {
    const { name, archiveKey, isElsewhere } = one;
    const canLook = one.missing === null && archiveKey !== null && !isElsewhere;
    const missing = canLook ? await findMissing(name, archiveKey) : one.missing;
    seen.push({ ...one, missing });
    const isThere = missing === null ? one.wasRead : missing.kind === 'part';
    if (isThere || one.copies.length > 0) kept.add(name.toLowerCase());
  }
  return seen.map((one) => ({ ...one, isNothingKept: !kept.has(one.name.toLowerCase()) }));
}

/** Says what is kept of a repository. */
export function describeKept({ missing, wasRead, copies, archiveKey }: KeptRepository): string {
  const stores = copies.length === 0 ? '' : ` A copy is in ${copies.join(' and ')}.`;
  if (missing?.kind === 'part') {
    return `Its archive is not whole (${missing.text}): its other files are kept.${stores}`;
  }
  if (missing !== null) {
    const gone = `Its archive is gone (${missing.text})`;
    return copies.length === 0 ? `${gone}: nothing is kept.` : `${gone}.${stores}`;
  }
  if (!wasRead) {
    const never = 'It was never backed up';
    return copies.length === 0 ? `${never}: nothing is kept.` : `${never}.${stores}`;
  }
  return archiveKey === null
    ? `It has no archive on record.${stores}`
    : `Its backups are kept.${stores}`;
}

const remember: Statement = {
  name: 'remember_repository',
  text: `WITH remembered AS (
      DELETE FROM forgotten_repositories WHERE lower(repo_full_name) = lower($1) RETURNING repo_full_name
    )
    SELECT count(*)::int AS number FROM remembered`,
};

/** Tracks a forgotten repository again, by its name in any letter case. False if it was not forgotten. */
export async function rememberRepository(db: Database, name: string): Promise<boolean> {
  const [row] = await db.query<{ number: number }>(remember, [name]);
  return (row?.number ?? 0) > 0;
}

/** A repository that somebody has forgotten. */
export interface Forgotten {
  name: string;
  /** ISO 8601. */
  at: string;
  by: string;
}

const list: Statement = {
  name: 'forgotten_repositories',
  text: `WITH ${newestForgotten}
    SELECT repo_full_name AS name, ${iso('forgotten.forgotten_at')} AS at, forgotten.forgotten_by AS by
    FROM newest JOIN forgotten_repositories AS forgotten USING (repo_full_name)
    ORDER BY forgotten.forgotten_at DESC, repo_full_name LIMIT $1::int`,
};

/** The forgotten repositories, the most recent first. */
export function listForgotten(db: Database, limit: number): Promise<Forgotten[]> {
  return db.query<Forgotten>(list, [limit]);
}

import type { Database, Statement } from '../../database/database.ts';
import { newestResults } from '../base/newest-results.ts';
import {
  iso,
  jsonObject,
  type Page,
  type PageRequest,
  pageOffset,
  pageQuery,
  readObject,
  readPage,
} from '../base/page.ts';

/** Maximum number of badges in use. */
export const MAX_BADGES = 1_000;

/** The columns of a Badge in order. Its address is not among them: only a hash of it is stored. */
const badgeColumns = `id, repository_name AS repository, created_by, ${iso('created_at')} AS created_at`;

const create: Statement = {
  name: 'create_badge',
  text: `WITH ${newestResults}, known AS (
      SELECT repo_full_name FROM newest WHERE lower(repo_full_name) = lower($2)
      ORDER BY repo_full_name = $2 DESC, created_at DESC, result_id DESC LIMIT 1
    ), created AS (
      INSERT INTO badges (token_sha256, repository_name, created_by)
      SELECT $1, (SELECT repo_full_name FROM known), $3
      WHERE ($2::text IS NULL OR EXISTS (SELECT FROM known))
        AND (SELECT count(*) FROM badges WHERE revoked_at IS NULL) < ${MAX_BADGES}
      RETURNING *
    )
    SELECT ${jsonObject(`SELECT ${badgeColumns} FROM created`)} AS item,
      $2::text IS NULL OR EXISTS (SELECT FROM known) AS "isKnown"`,
};

/** A badge to create. */
export interface NewBadge {
  /** The hash of the unguessable part of its address. */
  tokenSha256: string;
  /** A tracked repository in any letter case; null for all of them. */
  repository: string | null;
  createdBy: string;
}

/** Creates a badge and returns it as JSON; null if the repository is unknown, or there are too many badges. */
export async function createBadge(
  db: Database,
  { tokenSha256, repository, createdBy }: NewBadge,
): Promise<{ item: string | null; isKnown: boolean }> {
  const values = [tokenSha256, repository, createdBy];
  const [row] = await db.query<{ item: string | null; isKnown: boolean }>(create, values);
  if (!row) throw new Error(`${create.name} returned no row`);
  return row;
}

const listed = (name: string, condition: string): Statement => ({
  name,
  text: pageQuery(
    `SELECT ${badgeColumns} FROM badges AS badge WHERE revoked_at IS NULL AND ${condition}
     ORDER BY badge.id DESC LIMIT $1::bigint OFFSET $2::bigint`,
    `SELECT count(*) FROM badges WHERE revoked_at IS NULL AND ${condition}`,
  ),
});
const list = listed('badges_page', 'true');
const listOfRepository = listed('badges_of_repository_page', 'lower(repository_name) = lower($3)');

/** The badges in use, newest first; only those of `repository`, in any letter case, if it is given. */
export function listBadges(db: Database, request: PageRequest, repository?: string): Promise<Page> {
  const values = [request.limit, pageOffset(request)];
  return repository === undefined
    ? readPage(db, list, values)
    : readPage(db, listOfRepository, [...values, repository]);
}

const revoke: Statement = {
  name: 'revoke_badge',
  text: `WITH revoked AS (
      UPDATE badges SET revoked_at = now() WHERE id = $1::bigint AND revoked_at IS NULL RETURNING *
    )
    SELECT ${jsonObject(`SELECT ${badgeColumns} FROM revoked`)} AS item`,
};

/** Revokes a badge and returns it as JSON; null if no badge in use has this id. */
export function revokeBadge(db: Database, id: number): Promise<string | null> {
  return readObject(db, revoke, [id]);
}

const find: Statement = {
  name: 'find_badge',
  text: 'SELECT repository_name AS repository FROM badges WHERE token_sha256 = $1 AND revoked_at IS NULL',
};

/** The badge in use with this address; null if there is none. */
export async function findBadge(
  db: Database,
  tokenSha256: string,
): Promise<{ repository: string | null } | null> {
  const [row] = await db.query<{ repository: string | null }>(find, [tokenSha256]);
  return row ?? null;
}

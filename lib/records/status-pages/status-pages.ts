import type { Database, Statement } from '../../database/database.ts';
import { iso, jsonArray, jsonObject, readObject } from '../base/page.ts';

/** Maximum number of status pages in use. */
export const MAX_STATUS_PAGES = 20;

/** A row of a status page: a repository, or a group of them under one name. */
export interface StatusRow {
  label: string;
  /** Full names in any letter case, in which `*` stands for any text. */
  repositories: readonly string[];
}

/** The columns of a StatusPage in order. */
const columns = `id, title, address, shows, created_by, ${iso('created_at')} AS created_at`;

const list: Statement = {
  name: 'list_status_pages',
  text: `SELECT ${jsonArray(`SELECT ${columns} FROM status_pages WHERE revoked_at IS NULL
    ORDER BY id DESC LIMIT ${MAX_STATUS_PAGES}`)} AS items`,
};

/** The status pages in use as JSON, newest first. */
export async function listStatusPages(db: Database): Promise<string> {
  const [row] = await db.query<{ items: string }>(list);
  return row?.items ?? '[]';
}

const add: Statement = {
  name: 'add_status_page',
  text: `WITH added AS (
      INSERT INTO status_pages (address_sha256, address, title, shows, created_by, created_at)
      SELECT $1, $2, $3, $4::jsonb, $5, $6::timestamptz
      WHERE (SELECT count(*) FROM status_pages WHERE revoked_at IS NULL) < ${MAX_STATUS_PAGES}
      ON CONFLICT (address_sha256) WHERE revoked_at IS NULL DO NOTHING RETURNING *
    )
    SELECT ${jsonObject(`SELECT ${columns} FROM added`)} AS item,
      EXISTS (SELECT FROM status_pages WHERE address_sha256 = $1 AND revoked_at IS NULL) AS "isTaken"`,
};

/** A status page to add. */
export interface NewStatusPage {
  addressSha256: string;
  /** The last part of the address if somebody chose it; null if it is unguessable. */
  address: string | null;
  title: string;
  shows: readonly StatusRow[];
}

/** Adds a status page and returns it as JSON; null if its address is taken, or there are too many. */
export async function addStatusPage(
  db: Database,
  { addressSha256, address, title, shows }: NewStatusPage,
  { by, now }: { by: string; now: number },
): Promise<{ item: string | null; isTaken: boolean }> {
  const values = [addressSha256, address, title, JSON.stringify(shows), by];
  const [row] = await db.query<{ item: string | null; isTaken: boolean }>(add, [
    ...values,
    new Date(now).toISOString(),
  ]);
  if (row === undefined) throw new Error(`${add.name} returned no row`);
  return row;
}

const revoke: Statement = {
  name: 'revoke_status_page',
  text: `WITH revoked AS (
      UPDATE status_pages SET revoked_at = $2::timestamptz WHERE id = $1::bigint AND revoked_at IS NULL RETURNING *
    )
    SELECT ${jsonObject(`SELECT ${columns} FROM revoked`)} AS item`,
};

/** Revokes a status page and returns it as JSON; null if none in use has this id. */
export function revokeStatusPage(db: Database, id: number, now: number): Promise<string | null> {
  return readObject(db, revoke, [id, new Date(now).toISOString()]);
}

const find: Statement = {
  name: 'find_status_page',
  text: `SELECT id::text, title, shows::text FROM status_pages
    WHERE address_sha256 = $1 AND revoked_at IS NULL`,
};

/** A status page that was found by its address. */
export interface FoundStatusPage {
  id: string;
  title: string;
  shows: readonly StatusRow[];
}

/** The status page in use with this address; null if there is none. */
export async function findStatusPage(
  db: Database,
  addressSha256: string,
): Promise<FoundStatusPage | null> {
  const [row] = await db.query<{ id: string; title: string; shows: string }>(find, [addressSha256]);
  return row === undefined ? null : { ...row, shows: JSON.parse(row.shows) as StatusRow[] };
}

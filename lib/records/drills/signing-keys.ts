import type { Database, Statement } from '../../database/database.ts';
import { iso, type Page, type PageRequest, pageOffset, pageQuery, readPage } from '../base/page.ts';

/** The key that signs the results of drills. */
export interface SigningKeyRow {
  /** The SHA-256 of the public key. */
  id: string;
  /** In PEM. */
  public_key: string;
  sealed_private_key: string;
}

const current: Statement = {
  name: 'current_signing_key',
  text: 'SELECT id, public_key, sealed_private_key FROM signing_keys WHERE retired_at IS NULL',
};

/** The current key; null if none was made. */
export async function readSigningKey(db: Database): Promise<SigningKeyRow | null> {
  const [row] = await db.query<SigningKeyRow>(current);
  return row ?? null;
}

const columns = '(id, public_key, sealed_private_key, after_drill, created_by)';
const values = `$1, $2, $3, coalesce((SELECT max(id) FROM restore_drills), 0), $4`;

// Whichever server is first makes the key of all.
const add: Statement = {
  name: 'add_signing_key',
  text: `INSERT INTO signing_keys ${columns} SELECT ${values}
    ON CONFLICT ((retired_at IS NULL)) WHERE retired_at IS NULL DO NOTHING`,
};

/** Stores the first key, unless there is one. */
export async function addSigningKey(
  db: Database,
  { id, public_key, sealed_private_key }: SigningKeyRow,
  createdBy = '',
): Promise<void> {
  await db.query(add, [id, public_key, sealed_private_key, createdBy]);
}

const replace: Statement = {
  name: 'replace_signing_key',
  text: `WITH retired AS (
      UPDATE signing_keys SET retired_at = now(), sealed_private_key = NULL
      WHERE id = $5 AND retired_at IS NULL RETURNING 1
    )
    INSERT INTO signing_keys ${columns} SELECT ${values} FROM retired RETURNING 1 AS added`,
};

/** Replaces the current key `former`, whose private part is deleted. False if it is no longer the current one. */
export async function replaceSigningKey(
  db: Database,
  former: string,
  { id, public_key, sealed_private_key }: SigningKeyRow,
  createdBy: string,
): Promise<boolean> {
  const given = [id, public_key, sealed_private_key, createdBy, former];
  return (await db.query(replace, given)).length > 0;
}

const reseal: Statement = {
  name: 'reseal_signing_key',
  text: `UPDATE signing_keys SET sealed_private_key = $3
    WHERE id = $1 AND sealed_private_key = $2 AND retired_at IS NULL`,
};

/** Replaces a sealed private key after it was sealed with a new secret. */
export async function resealSigningKey(
  db: Database,
  id: string,
  { from, to }: { from: string; to: string },
): Promise<void> {
  await db.query(reseal, [id, from, to]);
}

const list: Statement = {
  name: 'list_signing_keys',
  text: pageQuery(
    `SELECT id, public_key, retired_at IS NULL AS is_current, after_drill, nullif(created_by, '') AS created_by,
      ${iso('created_at')} AS created_at, ${iso('retired_at')} AS retired_at
    FROM signing_keys AS key ORDER BY key.created_at DESC, key.id LIMIT $1::bigint OFFSET $2::bigint`,
    'SELECT count(*) FROM signing_keys',
  ),
};

/** The keys without their private parts, newest first. */
export function listSigningKeys(db: Database, request: PageRequest): Promise<Page> {
  return readPage(db, list, [request.limit, pageOffset(request)]);
}

const find: Statement = {
  name: 'public_signing_key',
  text: 'SELECT public_key FROM signing_keys WHERE id = $1',
};

/** A public key in PEM; null if there is no such key. */
export async function readPublicKey(db: Database, id: string): Promise<string | null> {
  const [row] = await db.query<{ public_key: string }>(find, [id]);
  return row?.public_key ?? null;
}

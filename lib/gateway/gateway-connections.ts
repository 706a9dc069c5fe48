import type { Database } from '../database/database.ts';
import { iso } from '../records/base/page.ts';

/** A user's stored gateway key. Timestamps are ISO 8601 in UTC. */
export interface GatewayConnection {
  encrypted_key: string;
  key_hint: string;
  connected_at: string;
  last_used_at: string | null;
  /** The gateway rejected the key. Stays set until the user reconnects. */
  invalid: boolean;
}

const columns = `encrypted_key, key_hint, ${iso('connected_at')} AS connected_at,
  ${iso('last_used_at')} AS last_used_at, invalid`;

const selectConnection = {
  name: 'find_gateway_connection',
  text: `SELECT ${columns} FROM gateway_connections WHERE username = $1`,
};
const upsertConnection = {
  name: 'store_gateway_connection',
  text: `INSERT INTO gateway_connections (username, encrypted_key, key_hint) VALUES ($1, $2, $3)
         ON CONFLICT (username) DO UPDATE SET encrypted_key = EXCLUDED.encrypted_key,
           key_hint = EXCLUDED.key_hint, connected_at = now(), last_used_at = NULL, invalid = false
         RETURNING ${columns}`,
};
const deleteConnection = {
  name: 'remove_gateway_connection',
  text: 'DELETE FROM gateway_connections WHERE username = $1',
};
// Matching connected_at keeps late updates for a replaced key from affecting its successor. Re-encrypting a
// key does not change it.
const updateInvalid = {
  name: 'mark_gateway_key_invalid',
  text: `UPDATE gateway_connections SET invalid = true
         WHERE username = $1 AND connected_at = $2::timestamptz`,
};
const updateLastUsed = {
  name: 'note_gateway_key_use',
  text: `UPDATE gateway_connections SET last_used_at = now()
         WHERE username = $1 AND connected_at = $2::timestamptz`,
};
const updateEncryptedKey = {
  name: 'replace_encrypted_gateway_key',
  text: `UPDATE gateway_connections SET encrypted_key = $3
         WHERE username = $1 AND encrypted_key = $2`,
};

/** A user's connection; null when there is none. */
export async function findGatewayConnection(
  db: Database,
  username: string,
): Promise<GatewayConnection | null> {
  const [found] = await db.query<GatewayConnection>(selectConnection, [username]);
  return found ?? null;
}

/** Up to `limit` encrypted keys of users. */
export function listEncryptedGatewayKeys(
  db: Database,
  limit: number,
): Promise<{ username: string; encrypted_key: string }[]> {
  const text = 'SELECT username, encrypted_key FROM gateway_connections ORDER BY 1 LIMIT $1';
  return db.query({ text }, [limit]);
}

/** Stores a user's key, replacing any earlier one. */
export async function storeGatewayConnection(
  db: Database,
  username: string,
  { encryptedKey, keyHint }: { encryptedKey: string; keyHint: string },
): Promise<GatewayConnection> {
  const values = [username, encryptedKey, keyHint];
  const [stored] = await db.query<GatewayConnection>(upsertConnection, values);
  if (!stored) throw new Error('the gateway connection was not stored');
  return stored;
}

/** Deletes a user's key. */
export async function removeGatewayConnection(db: Database, username: string): Promise<void> {
  await db.query(deleteConnection, [username]);
}

/** Records that the gateway rejected the key connected at that time. */
export async function markGatewayKeyInvalid(
  db: Database,
  username: string,
  connectedAt: string,
): Promise<void> {
  await db.query(updateInvalid, [username, connectedAt]);
}

/** Records that the gateway accepted the key connected at that time. */
export async function noteGatewayKeyUse(
  db: Database,
  username: string,
  connectedAt: string,
): Promise<void> {
  await db.query(updateLastUsed, [username, connectedAt]);
}

/** Replaces a key's ciphertext after re-encryption. */
export async function replaceEncryptedGatewayKey(
  db: Database,
  username: string,
  { from, to }: { from: string; to: string },
): Promise<void> {
  await db.query(updateEncryptedKey, [username, from, to]);
}

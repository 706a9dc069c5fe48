import type { Database } from '../platform/database/database.ts';
import { iso } from './page.ts';

/** A user's own gateway key as it is stored. Timestamps are ISO 8601 in UTC. */
export interface GatewayConnection {
  encrypted_key: string;
  key_hint: string;
  connected_at: string;
  last_used_at: string | null;
  /** The gateway refused the key; so it stays until the user reconnects. */
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
// What became of a key does not touch its successor: connected_at tells them apart, also when the same
// key is meanwhile stored under another encryption.
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

/** A user's connection, null when there is none. */
export async function findGatewayConnection(
  db: Database,
  username: string,
): Promise<GatewayConnection | null> {
  const [found] = await db.query<GatewayConnection>(selectConnection, [username]);
  return found ?? null;
}

/** Users' keys as they are stored, at most `limit`. */
export function listEncryptedGatewayKeys(
  db: Database,
  limit: number,
): Promise<{ username: string; encrypted_key: string }[]> {
  const text = 'SELECT username, encrypted_key FROM gateway_connections ORDER BY 1 LIMIT $1';
  return db.query({ text }, [limit]);
}

/** Stores a user's key in place of the one before it. */
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

/** Forgets a user's key. */
export async function removeGatewayConnection(db: Database, username: string): Promise<void> {
  await db.query(deleteConnection, [username]);
}

/** Notes that the gateway refused the key that was connected then. */
export async function markGatewayKeyInvalid(
  db: Database,
  username: string,
  connectedAt: string,
): Promise<void> {
  await db.query(updateInvalid, [username, connectedAt]);
}

/** Notes that the gateway took the key that was connected then. */
export async function noteGatewayKeyUse(
  db: Database,
  username: string,
  connectedAt: string,
): Promise<void> {
  await db.query(updateLastUsed, [username, connectedAt]);
}

/** Stores the same key under another encryption. */
export async function replaceEncryptedGatewayKey(
  db: Database,
  username: string,
  { from, to }: { from: string; to: string },
): Promise<void> {
  await db.query(updateEncryptedKey, [username, from, to]);
}

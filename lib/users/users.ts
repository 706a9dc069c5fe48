import type { Database } from '../database/database.ts';
import { AppError } from '../errors.ts';

const insertUser = {
  name: 'insert_user',
  text: `INSERT INTO users (username, password_hash, is_admin) VALUES ($1, $2, $3)
         ON CONFLICT (username) DO NOTHING RETURNING username`,
};
const selectUsers = {
  name: 'list_users',
  text: `SELECT username, is_admin,
           to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS created_at
         FROM users WHERE $1::text IS NULL OR username = $1
         ORDER BY username LIMIT $2::int`,
};
const updatePassword = {
  name: 'change_password',
  text: 'UPDATE users SET password_hash = $2 WHERE username = $1 RETURNING username',
};
const updateAdmin = {
  name: 'set_user_admin',
  text: 'UPDATE users SET is_admin = $2 WHERE username = $1 RETURNING username',
};
const selectAdmin = {
  name: 'find_user_admin',
  text: 'SELECT is_admin FROM users WHERE username = $1',
};
const renewPasswordHash = {
  name: 'renew_password_hash',
  text: 'UPDATE users SET password_hash = $3 WHERE username = $1 AND password_hash = $2',
};
// Deleting a session cascades to its messages; messages without a session are deleted separately.
const deleteUser = {
  name: 'remove_user',
  text: `WITH gone AS (DELETE FROM users WHERE username = $1 RETURNING username),
           key AS (DELETE FROM gateway_connections WHERE username IN (SELECT username FROM gone)),
           conversations AS (DELETE FROM chat_sessions WHERE username IN (SELECT username FROM gone)),
           written AS (DELETE FROM reports WHERE username IN (SELECT username FROM gone)),
           turns AS (DELETE FROM chat_messages
                     WHERE session_id IS NULL AND username IN (SELECT username FROM gone))
         SELECT username FROM gone`,
};
const selectPasswordHash = {
  name: 'find_password_hash',
  text: 'SELECT password_hash FROM users WHERE username = $1',
};
const selectUserSince = {
  name: 'find_user_since',
  text: `SELECT username FROM users WHERE username = $1
         AND ($2::double precision IS NULL OR created_at <= to_timestamp($2::double precision))`,
};

/** The tolerated difference between the clocks of the service and the database. */
const CLOCK_TOLERANCE_SECONDS = 60;

/** Allowed names of new users. A URL path cannot contain `.` or `..` as a segment. */
export const USERNAME = /^(?!\.{1,2}$)[\p{L}\p{N}._@+-]{1,64}$/u;

export interface User {
  username: string;
  is_admin: boolean;
  /** ISO 8601 in UTC. */
  created_at: string;
}

/** Adds a user of the observatory. Throws CONFLICT when the name is taken. */
export async function addUser(
  db: Database,
  username: string,
  passwordHash: string,
  { isAdmin = false }: { isAdmin?: boolean } = {},
): Promise<void> {
  const added = await db.query(insertUser, [username, passwordHash, isAdmin]);
  if (added.length === 0) throw new AppError('CONFLICT', `user ${username} already exists`);
}

/** Lists stored users by name: all, at most `limit`, or only the one with this name. */
export function listUsers(
  db: Database,
  { only = null, limit = null }: { only?: string | null; limit?: number | null } = {},
): Promise<User[]> {
  return db.query<User>(selectUsers, [only, limit]);
}

/** Changes a user's password. Throws NOT_FOUND for an unknown user. */
export async function changePassword(
  db: Database,
  username: string,
  passwordHash: string,
): Promise<void> {
  const changed = await db.query(updatePassword, [username, passwordHash]);
  if (changed.length === 0) throw unknownUser(username);
}

/** Makes a user an administrator, or takes that away. Throws NOT_FOUND for an unknown user. */
export async function setAdmin(db: Database, username: string, isAdmin: boolean): Promise<void> {
  const changed = await db.query(updateAdmin, [username, isAdmin]);
  if (changed.length === 0) throw unknownUser(username);
}

/** Whether a stored user is an administrator; false for an unknown user. */
export async function isStoredAdmin(db: Database, username: string): Promise<boolean> {
  const [found] = await db.query<{ is_admin: boolean }>(selectAdmin, [username]);
  return found?.is_admin ?? false;
}

/**
 * Removes a user with their gateway key, conversations and reports, so that a later user of the same name
 * does not inherit them. The user's tokens stop working. Throws NOT_FOUND for an unknown user.
 */
export async function removeUser(db: Database, username: string): Promise<void> {
  const removed = await db.query(deleteUser, [username]);
  if (removed.length === 0) throw unknownUser(username);
}

function unknownUser(username: string): AppError {
  return new AppError('NOT_FOUND', `user ${username} does not exist`);
}

/** The scrypt hash of a user's password; null for an unknown user. */
export async function findPasswordHash(db: Database, username: string): Promise<string | null> {
  const [found] = await db.query<{ password_hash: string }>(selectPasswordHash, [username]);
  return found?.password_hash ?? null;
}

/** Replaces a password's hash by a new hash of the same password, unless it has changed meanwhile. */
export async function replacePasswordHash(
  db: Database,
  username: string,
  { from, to }: { from: string; to: string },
): Promise<void> {
  await db.query(renewPasswordHash, [username, from, to]);
}

/** Whether this user exists and, if `since` (seconds since the epoch) is given, already existed then. */
export async function isUser(
  db: Database,
  username: string,
  since: number | null,
): Promise<boolean> {
  const latest = since === null ? null : since + CLOCK_TOLERANCE_SECONDS;
  return (await db.query(selectUserSince, [username, latest])).length > 0;
}

import type { Database } from '../platform/database/database.ts';
import { AppError } from '../platform/errors.ts';

const insertUser = {
  name: 'insert_user',
  text: `INSERT INTO users (username, password_hash) VALUES ($1, $2)
         ON CONFLICT (username) DO NOTHING RETURNING username`,
};
const selectUsers = {
  name: 'list_users',
  text: `SELECT username, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS created_at
         FROM users ORDER BY username`,
};
const updatePassword = {
  name: 'change_password',
  text: 'UPDATE users SET password_hash = $2 WHERE username = $1 RETURNING username',
};
// The messages of a session go with it; the others are found by the same index.
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

/** Seconds by which the clocks of the service and of its database may differ. */
const CLOCK_TOLERANCE_SECONDS = 60;

export interface User {
  username: string;
  /** ISO 8601 in UTC. */
  created_at: string;
}

/** Stores a user of the observatory. Throws CONFLICT when the name is taken. */
export async function addUser(db: Database, username: string, passwordHash: string): Promise<void> {
  const added = await db.query(insertUser, [username, passwordHash]);
  if (added.length === 0) throw new AppError('CONFLICT', `user ${username} exists already`);
}

/** All stored users by name. */
export function listUsers(db: Database): Promise<User[]> {
  return db.query<User>(selectUsers);
}

/** Gives a user another password. Throws NOT_FOUND for an unknown name. */
export async function changePassword(
  db: Database,
  username: string,
  passwordHash: string,
): Promise<void> {
  const changed = await db.query(updatePassword, [username, passwordHash]);
  if (changed.length === 0) throw unknownUser(username);
}

/**
 * Removes a user with the gateway key, the conversations and the reports, which the next one of the name
 * would get otherwise. The tokens that the user holds stop working. Throws NOT_FOUND for an unknown name.
 */
export async function removeUser(db: Database, username: string): Promise<void> {
  const removed = await db.query(deleteUser, [username]);
  if (removed.length === 0) throw unknownUser(username);
}

function unknownUser(username: string): AppError {
  return new AppError('NOT_FOUND', `there is no user ${username}`);
}

/** The scrypt hash of a user's password, null for an unknown name. */
export async function findPasswordHash(db: Database, username: string): Promise<string | null> {
  const [found] = await db.query<{ password_hash: string }>(selectPasswordHash, [username]);
  return found?.password_hash ?? null;
}

/**
 * Is there a user of this name, who was there at `since` already (seconds since the epoch)? With null
 * whenever the user came.
 */
export async function isUser(
  db: Database,
  username: string,
  since: number | null,
): Promise<boolean> {
  const latest = since === null ? null : since + CLOCK_TOLERANCE_SECONDS;
  return (await db.query(selectUserSince, [username, latest])).length > 0;
}

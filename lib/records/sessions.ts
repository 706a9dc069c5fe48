import type { Database } from '../database/database.ts';
import {
  iso,
  jsonArray,
  jsonObject,
  type PageRequest,
  pageOffset,
  readObject,
} from './base/page.ts';

// Every query filters by user, so that another user's session looks like one that does not exist.

const session = `id, session_name, ${iso('created_at')} AS created_at, ${iso('updated_at')} AS updated_at`;

const listStatement = {
  name: 'list_sessions',
  text: `SELECT ${jsonArray(
    `SELECT ${session} FROM chat_sessions AS it WHERE username = $1
     ORDER BY it.updated_at DESC, it.id DESC LIMIT $2 OFFSET $3`,
  )} AS item`,
};
const detailStatement = {
  name: 'read_session',
  text: `SELECT ${jsonObject(
    `SELECT ${session},
       (SELECT count(*) FROM chat_messages WHERE session_id = chat_sessions.id) AS message_count
     FROM chat_sessions WHERE id = $2::uuid AND username = $1`,
  )} AS item`,
};
const createStatement = {
  name: 'create_session',
  text: `WITH created AS (
           INSERT INTO chat_sessions (id, username, session_name)
           VALUES (coalesce($2::uuid, gen_random_uuid()), $1, $3)
           ON CONFLICT (id) DO NOTHING RETURNING *
         ) SELECT ${jsonObject(`SELECT ${session} FROM created`)} AS item`,
};
const renameStatement = {
  name: 'rename_session',
  text: `WITH renamed AS (
           UPDATE chat_sessions SET session_name = $3, updated_at = now()
           WHERE id = $2::uuid AND username = $1 RETURNING *
         ) SELECT ${jsonObject(`SELECT ${session} FROM renamed`)} AS item`,
};
const deleteStatement = {
  name: 'delete_session',
  text: 'DELETE FROM chat_sessions WHERE id = $2::uuid AND username = $1 RETURNING id',
};
const messagesStatement = {
  name: 'list_session_messages',
  text: `SELECT ${jsonArray(
    `SELECT * FROM (
       SELECT id, role, content, ${iso('created_at')} AS created_at, request_id, status, tool_calls, sources,
         reasoning, finish_reason
       FROM chat_messages WHERE session_id = owned.id AND id < coalesce($3::bigint, 9223372036854775807)
       ORDER BY id DESC LIMIT $4
     ) AS newest ORDER BY id`,
  )} AS item
  FROM chat_sessions AS owned WHERE owned.id = $2::uuid AND owned.username = $1`,
};

/** A user's sessions as a JSON array, most recently updated first. */
export async function listSessions(
  db: Database,
  username: string,
  page: PageRequest,
): Promise<string> {
  return (await readObject(db, listStatement, [username, page.limit, pageOffset(page)])) ?? '[]';
}

/** A session with its message_count as JSON; null when the user has no such session. */
export function readSession(db: Database, username: string, id: string): Promise<string | null> {
  return readObject(db, detailStatement, [username, id]);
}

/** Creates a session, with a random id when `id` is null. Null when the id is taken. */
export function createSession(
  db: Database,
  username: string,
  { id, name }: { id: string | null; name: string },
): Promise<string | null> {
  return readObject(db, createStatement, [username, id, name]);
}

/** Renames a session; null when the user has no such session. */
export function renameSession(
  db: Database,
  username: string,
  { id, name }: { id: string; name: string },
): Promise<string | null> {
  return readObject(db, renameStatement, [username, id, name]);
}

/** Deletes a session with its messages. False when the user has no such session. */
export async function deleteSession(db: Database, username: string, id: string): Promise<boolean> {
  return (await db.query(deleteStatement, [username, id])).length > 0;
}

/**
 * The newest messages of a session as JSON, oldest first; with `beforeId` only earlier ones. Null when the
 * user has no such session.
 */
export function listMessages(
  db: Database,
  username: string,
  { id, beforeId, limit }: { id: string; beforeId: number | null; limit: number },
): Promise<string | null> {
  return readObject(db, messagesStatement, [username, id, beforeId, limit]);
}

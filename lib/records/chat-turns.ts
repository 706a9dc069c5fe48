import type { Database } from '../platform/database/database.ts';
import { jsonArray } from './page.ts';

/** A message as the model sees it again (spec 2, rule 3). */
export interface HistoryMessage {
  role: 'user' | 'assistant';
  content: string;
}

/** A question that is about to be asked. */
export interface NewQuestion {
  username: string;
  /** Null for a question outside any session. */
  sessionId: string | null;
  /** The name of the session, if it has to be made. */
  sessionName: string;
  question: string;
  requestId: string;
  /** How many of the messages before it are read. */
  historyLimit: number;
}

/** How a turn ended (spec 2, Chat turn status). */
export interface EndedTurn {
  username: string;
  sessionId: string | null;
  requestId: string;
  status: 'completed' | 'failed';
  /** The text that was streamed. */
  answer: string;
  toolCalls: readonly unknown[];
}

// All parts of a statement see the messages from before it, so the question is not in its own history.
const beginStatement = {
  name: 'begin_chat_turn',
  text: `WITH owned AS (
      INSERT INTO chat_sessions (id, username, session_name)
      SELECT $2::uuid, $1, $3 WHERE $2::uuid IS NOT NULL
      ON CONFLICT (id) DO UPDATE SET updated_at = now()
        WHERE chat_sessions.username = excluded.username
      RETURNING id
    ), asked AS (
      INSERT INTO chat_messages (session_id, username, role, content, request_id)
      SELECT $2::uuid, $1, 'user', $4, $5
      WHERE $2::uuid IS NULL OR EXISTS (SELECT FROM owned)
      RETURNING id
    )
    SELECT ${jsonArray(
      `SELECT role, content FROM (
         SELECT id, role, content FROM chat_messages
         WHERE session_id = (SELECT id FROM owned) AND content <> ''
         ORDER BY id DESC LIMIT $6
       ) AS newest ORDER BY id`,
    )} AS history FROM asked`,
};
// A session that was deleted while its turn ran takes the turn with it.
const endStatement = {
  name: 'end_chat_turn',
  text: `WITH touched AS (
      UPDATE chat_sessions SET updated_at = now() WHERE id = $2::uuid AND username = $1 RETURNING id
    )
    INSERT INTO chat_messages (session_id, username, role, content, request_id, status, tool_calls)
    SELECT $2::uuid, $1, 'assistant', $3, $4, $5, $6::jsonb
    WHERE $2::uuid IS NULL OR EXISTS (SELECT FROM touched)`,
};

/**
 * Stores a question, makes its session when there is none of that id, and reads the messages before it,
 * oldest first. Null, with nothing stored, when the session is another user's. (spec 2, rule 3; decisions 5)
 */
export async function beginTurn(
  db: Database,
  asked: NewQuestion,
): Promise<HistoryMessage[] | null> {
  const { username, sessionId, sessionName, question, requestId, historyLimit } = asked;
  const [row] = await db.query<{ history: string }>(beginStatement, [
    username,
    sessionId,
    withoutNul(sessionName),
    withoutNul(question),
    requestId,
    historyLimit,
  ]);
  return row ? JSON.parse(row.history) : null;
}

/** Stores what became of a turn. Its session is then the one that changed last. */
export async function endTurn(db: Database, turn: EndedTurn): Promise<void> {
  const { username, sessionId, requestId, status, answer, toolCalls } = turn;
  await db.query(endStatement, [
    username,
    sessionId,
    withoutNul(answer),
    requestId,
    status,
    JSON.stringify(toolCalls, (_key, value) =>
      typeof value === 'string' ? withoutNul(value) : value,
    ),
  ]);
}

/** Postgres stores neither NUL nor half a surrogate pair. */
function withoutNul(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed();
}

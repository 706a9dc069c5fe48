import type { Database } from '../database/database.ts';
import { splitReasoning } from '../text/reasoning.ts';
import { jsonArray } from './base/page.ts';

/** An earlier message of a session, as sent to the model. */
export interface HistoryMessage {
  role: 'user' | 'assistant';
  content: string;
}

/** A new question. */
export interface NewQuestion {
  username: string;
  /** Null for a question outside any session. */
  sessionId: string | null;
  /** The name of the session, if it has to be created. */
  sessionName: string;
  question: string;
  requestId: string;
  /** The maximum number of earlier messages to read. */
  historyLimit: number;
}

/** The outcome of a turn. */
export interface EndedTurn {
  username: string;
  sessionId: string | null;
  requestId: string;
  status: 'completed' | 'failed';
  /** The streamed text, without the reasoning. */
  answer: string;
  reasoning: string;
  /** Why the model stopped; null if the turn failed. */
  finishReason: string | null;
  toolCalls: readonly unknown[];
  /** What the search found for the question. */
  sources: readonly unknown[];
}

// All parts of the statement share one snapshot, so the history does not include the new question.
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
// When the session was deleted during the turn, nothing is stored.
const endStatement = {
  name: 'end_chat_turn',
  text: `WITH touched AS (
      UPDATE chat_sessions SET updated_at = now() WHERE id = $2::uuid AND username = $1 RETURNING id
    )
    INSERT INTO chat_messages (session_id, username, role, content, request_id, status, tool_calls, sources,
      reasoning, finish_reason)
    SELECT $2::uuid, $1, 'assistant', $3, $4, $5, $6::jsonb, $7::jsonb, $8, $9
    WHERE $2::uuid IS NULL OR EXISTS (SELECT FROM touched)`,
};

/**
 * Stores a question, creates its session if necessary, and returns the earlier messages, oldest first.
 * Returns null and stores nothing when the session belongs to another user.
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
  if (!row) return null;
  const history: HistoryMessage[] = JSON.parse(row.history);
  // Older answers were stored with their reasoning.
  return history
    .map((it) => (it.role === 'user' ? it : { ...it, content: splitReasoning(it.content).text }))
    .filter(({ content }) => content !== '');
}

/** Stores the outcome of a turn and marks its session as updated. */
export async function endTurn(db: Database, turn: EndedTurn): Promise<void> {
  const { username, sessionId, requestId, status, answer, toolCalls, sources } = turn;
  const { reasoning, finishReason } = turn;
  await db.query(endStatement, [
    username,
    sessionId,
    withoutNul(answer),
    requestId,
    status,
    stringify(toolCalls),
    stringify(sources),
    withoutNul(reasoning),
    finishReason,
  ]);
}

function stringify(list: readonly unknown[]): string {
  return JSON.stringify(list, (_key, value) =>
    typeof value === 'string' ? withoutNul(value) : value,
  );
}

/** Postgres accepts neither NUL nor lone surrogates. */
function withoutNul(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed();
}

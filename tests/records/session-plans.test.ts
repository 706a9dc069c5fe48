import { beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { findGatewayConnection } from '../../lib/gateway/gateway-connections.ts';
import { beginTurn, endTurn } from '../../lib/records/chat-turns.ts';
import { listMessages, listSessions, readSession } from '../../lib/records/sessions.ts';
import { findPasswordHash, isUser } from '../../lib/users/users.ts';
import { useDatabase } from '../support/hooks.ts';
import { explainRead } from '../support/plans.ts';
import { sql } from '../support/records.ts';

// How the planner of a real Postgres runs the statements of each user request over filled tables.

const ID = '00000000-0000-4000-8000-000000000007';
/** In another session, since what these statements write stays. */
const turn = { username: 'user-8', sessionId: ID.replace('7', '8'), requestId: 'r' };
const database = useDatabase();

beforeAll(async () => {
  await sql(
    database.db,
    `INSERT INTO users SELECT 'user-' || n, 'hash' FROM generate_series(1, 20000) n`,
  );
  await sql(
    database.db,
    `INSERT INTO gateway_connections SELECT 'user-' || n, 'key', 'hint' FROM generate_series(1, 20000) n`,
  );
  await sql(
    database.db,
    `INSERT INTO chat_sessions (id, username, updated_at)
     SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 'user-' || n % 20,
       now() - n * interval '1 minute' FROM generate_series(1, 20000) AS n`,
  );
  await sql(
    database.db,
    `INSERT INTO chat_messages (session_id, username, role, content, request_id)
     SELECT ('00000000-0000-4000-8000-' || lpad((1 + n % 1000)::text, 12, '0'))::uuid, 'user', 'user', 'text', 'r'
     FROM generate_series(1, 100000) AS n`,
  );
  await sql(database.db, 'VACUUM ANALYZE');
});

describe.each([
  ['the plan for its values', false],
  ['the plan for any values', true],
])('%s', (_case, generic) => {
  const reads: [string, (db: Database) => Promise<unknown>, Record<string, number>][] = [
    ['a password', (db) => findPasswordHash(db, 'user-7'), { users: 1 }],
    ['a token', (db) => isUser(db, 'user-7', 4e9), { users: 1 }],
    ['a connection', (db) => findGatewayConnection(db, 'user-7'), { gateway_connections: 1 }],
    ['sessions', (db) => listSessions(db, 'user-7', { page: 1, limit: 20 }), { chat_sessions: 20 }],
    ['a session', (db) => readSession(db, 'user-7', ID), { chat_sessions: 1, chat_messages: 100 }],
    [
      'messages',
      (db) => listMessages(db, 'user-7', { id: ID, beforeId: null, limit: 20 }),
      { chat_sessions: 1, chat_messages: 20 },
    ],
    [
      'older messages',
      (db) => listMessages(db, 'user-7', { id: ID, beforeId: 50_000, limit: 20 }),
      { chat_sessions: 1, chat_messages: 20 },
    ],
    [
      'the history of a question',
      (db) => beginTurn(db, { ...turn, sessionName: '', question: 'text', historyLimit: 20 }),
      { chat_sessions: 3, chat_messages: 21 },
    ],
    [
      'the end of a turn',
      (db) =>
        endTurn(db, {
          ...turn,
          status: 'completed',
          answer: 'text',
          reasoning: '',
          finishReason: 'stop',
          toolCalls: [],
          sources: [],
        }),
      { chat_sessions: 3, chat_messages: 1 },
    ],
  ];

  it.each(reads)('reads few rows for %s', async (_what, read, most) => {
    const counted = await explainRead(database, read, generic);
    expect(Object.keys(counted)).not.toEqual([]);
    for (const [table, rows] of Object.entries(counted)) {
      expect(rows, `rows of ${table}`).toBeLessThanOrEqual(most[table] ?? 0);
    }
  });
});

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { useDatabase } from '../support/hooks.ts';
import { createObservatoryClient, type ObservatoryClient } from '../support/observatory-client.ts';
import { sql } from '../support/records.ts';

const ID = '6f3c2f1e-0c5a-4b7d-9a53-3f1f7f1d2c11';
const OTHER_ID = '11111111-1111-1111-1111-111111111111';
const MALFORMED = ['x', '0', '6f3c2f1e', `${ID}0`, '%00', '..', "'; DROP TABLE users; --"];

const database = useDatabase();
let client: ObservatoryClient;
/** The token of another user. */
let asGrace: { token: string };

beforeAll(async () => {
  await sql(database.db, `INSERT INTO users VALUES ('grace', 'x', '2020-01-01')`);
});
beforeEach(async () => {
  await sql(database.db, 'TRUNCATE chat_sessions CASCADE');
  client = createObservatoryClient({ db: database.db });
  asGrace = { token: await client.signToken('grace') };
});

async function create(name: string, request = {}): Promise<string> {
  return (await client.post('/sessions', { session_name: name }, request)).body.data.id;
}

const namesOf = async (path: string, request = {}) =>
  (await client.get(path, request)).body.data.map(
    (it: { session_name: string }) => it.session_name,
  );

describe('POST /sessions', () => {
  it('creates a session with a random id and without a name', async () => {
    const { status, body } = await client.send('POST', '/sessions');
    expect(status).toBe(201);
    expect(body.data.session_name).toBe('');
    expect(body.data.created_at).toBe(body.data.updated_at);
    const found = await client.get(`/sessions/${body.data.id}`);
    expect(found.body.data).toEqual({ ...body.data, message_count: 0 });
  });

  it('creates a session with the given id and name', async () => {
    const { body } = await client.post('/sessions', {
      id: ID.toUpperCase(),
      session_name: ' Disk ',
    });
    expect(body.data).toMatchObject({ id: ID, session_name: 'Disk' });
  });

  it('accepts a UUID without a version', async () => {
    expect((await client.post('/sessions', { id: OTHER_ID })).status).toBe(201);
  });

  it("answers 409 to an existing id, even another user's, and changes nothing", async () => {
    await client.post('/sessions', { id: ID, session_name: 'Mine' });
    for (const request of [{}, asGrace]) {
      const answer = await client.post('/sessions', { id: ID, session_name: 'Other' }, request);
      expect([answer.status, answer.body.error.code]).toEqual([409, 'CONFLICT']);
    }
    expect(await namesOf('/sessions')).toEqual(['Mine']);
    expect(await namesOf('/sessions', asGrace)).toEqual([]);
  });

  it.each([
    ['a malformed id', { id: 'x' }, 'id'],
    ['a name that is too long', { session_name: 'x'.repeat(201) }, 'session_name'],
    ['a numeric name', { session_name: 7 }, 'session_name'],
  ])('answers 400 to %s', async (_case, json, path) => {
    const { status, body } = await client.post('/sessions', json);
    expect(status).toBe(400);
    expect(body.error.details).toEqual([{ path, message: expect.any(String) }]);
  });
});

describe('GET /sessions', () => {
  it("lists the caller's sessions, the latest changed first", async () => {
    const first = await create('first');
    await create('second');
    await create('of grace', asGrace);
    expect(await namesOf('/sessions')).toEqual(['second', 'first']);
    await client.send('PATCH', `/sessions/${first}`, { json: { session_name: 'renamed' } });
    expect(await namesOf('/sessions')).toEqual(['renamed', 'second']);
    expect(await namesOf('/sessions', asGrace)).toEqual(['of grace']);
  });

  it('returns pages', async () => {
    for (const name of ['a', 'b', 'c']) await create(name);
    expect(await namesOf('/sessions?limit=2')).toEqual(['c', 'b']);
    expect(await namesOf('/sessions?limit=2&page=2')).toEqual(['a']);
    expect(await namesOf(`/sessions?page=${Number.MAX_SAFE_INTEGER}`)).toEqual([]);
  });

  it.each(['limit=0', 'limit=501', 'limit=x', 'page=0', 'page=-1', 'limit=1&limit=2', 'limit=1e2'])(
    'answers 400 to %s',
    async (query) => {
      expect((await client.get(`/sessions?${query}`)).status).toBe(400);
    },
  );
});

describe('/sessions/:id', () => {
  it('is renamed by PATCH', async () => {
    const id = await create('old');
    const { status, body } = await client.send('PATCH', `/sessions/${id}`, {
      json: { session_name: 'n'.repeat(200) },
    });
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ id, session_name: 'n'.repeat(200) });
    expect(body.data.updated_at > body.data.created_at).toBe(true);
  });

  it.each([
    ['no name', {}],
    ['an empty name', { session_name: '' }],
    ['a name of spaces', { session_name: '   ' }],
    ['201 characters', { session_name: 'x'.repeat(201) }],
  ])('is not renamed by %s', async (_case, json) => {
    const id = await create('old');
    const { status, body } = await client.send('PATCH', `/sessions/${id}`, { json });
    expect([status, body.error.code]).toEqual([400, 'VALIDATION_ERROR']);
    expect(await namesOf('/sessions')).toEqual(['old']);
  });

  it('is deleted with its messages by DELETE', async () => {
    const id = await create('old');
    await addMessages(id, 2);
    const { body } = await client.send('DELETE', `/sessions/${id.toUpperCase()}`);
    expect(body.data).toEqual({ id, deleted: true });
    expect((await client.send('DELETE', `/sessions/${id}`)).status).toBe(404);
    expect(await sql(database.db, 'SELECT * FROM chat_messages')).toEqual([]);
  });

  it.each([
    ['GET', '', {}],
    ['GET', '/messages', {}],
    ['PATCH', '', { json: { session_name: 'taken over' } }],
    ['DELETE', '', {}],
  ])(
    '%s %s is 404 for unknown and malformed ids and those of other users',
    async (method, rest, request) => {
      const id = await create('mine');
      await addMessages(id, 1);
      for (const unknown of [OTHER_ID, ...MALFORMED.map(encodeURIComponent)]) {
        const { status, body } = await client.send(method, `/sessions/${unknown}${rest}`, request);
        expect([status, body.error.code]).toEqual([404, 'NOT_FOUND']);
      }
      const path = `/sessions/${id}${rest}`;
      expect((await client.send(method, path, { ...request, ...asGrace })).status).toBe(404);
      expect(await namesOf('/sessions')).toEqual(['mine']);
      expect((await client.get(`/sessions/${id}`)).body.data.message_count).toBe(1);
    },
  );
});

describe('GET /sessions/:id/messages', () => {
  it('lists questions and answers, oldest first', async () => {
    const id = await create('talk');
    await addMessages(id, 2);
    const { body } = await client.get(`/sessions/${id}/messages`);
    expect(body.data).toMatchObject([
      { role: 'user', content: 'text 1', request_id: 'r-1', status: null, tool_calls: [] },
      {
        role: 'assistant',
        content: 'text 2',
        request_id: 'r-2',
        status: 'completed',
        tool_calls: [{ name: 'list_runs' }],
      },
    ]);
    expect((await client.get(`/sessions/${id}`)).body.data.message_count).toBe(2);
  });

  it('removes secrets from tool results', async () => {
    const id = await create('talk');
    await addMessages(id, 2);
    const token = `ghp_${'a1B2'.repeat(10)}`;
    const calls = JSON.stringify([{ name: 'read_logs', result: `pushing with ${token}` }]);
    await sql(database.db, `UPDATE chat_messages SET tool_calls = '${calls}'`);
    const { text } = await client.get(`/sessions/${id}/messages`);
    expect(text).toContain('pushing with');
    expect(text).not.toContain(token);
  });

  it('returns the newest messages, or those before an id', async () => {
    const id = await create('talk');
    await addMessages(id, 5);
    const read = async (query: string) =>
      (await client.get(`/sessions/${id}/messages?${query}`)).body.data;
    const newest = await read('limit=2');
    expect(newest.map(({ content }: { content: string }) => content)).toEqual(['text 4', 'text 5']);
    const older = await read(`limit=2&before_id=${newest[0].id}`);
    expect(older.map(({ content }: { content: string }) => content)).toEqual(['text 2', 'text 3']);
  });

  it('is empty for a session without messages', async () => {
    const id = await create('silence');
    expect((await client.get(`/sessions/${id}/messages`)).body.data).toEqual([]);
  });
});

async function addMessages(sessionId: string, count: number): Promise<void> {
  await sql(
    database.db,
    `INSERT INTO chat_messages (session_id, username, role, content, request_id, status, tool_calls)
     SELECT '${sessionId}', 'ada', CASE WHEN n % 2 = 1 THEN 'user' ELSE 'assistant' END, 'text ' || n,
       'r-' || n, CASE WHEN n % 2 = 0 THEN 'completed' END,
       CASE WHEN n % 2 = 0 THEN '[{"name": "list_runs"}]'::jsonb ELSE '[]' END
     FROM generate_series(1, ${count}) AS n`,
  );
}

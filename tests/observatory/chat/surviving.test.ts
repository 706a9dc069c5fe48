import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashPassword } from '../../../lib/security/password.ts';
import { addUser } from '../../../lib/users/users.ts';
import {
  advanceUntilSettled,
  askStream,
  type ChatServer,
  readMessages,
  scriptChat,
  waitFor,
} from '../../support/chat.ts';
import { useDatabase } from '../../support/hooks.ts';
import {
  decide,
  expectState,
  mailArguments,
  mailCall,
  stores,
  useMailChat,
  useStore,
} from '../../support/mail-chat.ts';
import { QUICK_COST } from '../../support/passwords.ts';
import { sql } from '../../support/records.ts';
import { hasRedisServer } from '../../support/redis-server.ts';
import { startUpstashRest, type UpstashRest } from '../../support/upstash-rest.ts';

// A turn that survives its client runs to its end, can be found again and can be stopped.

const database = useDatabase();
const chat = useMailChat(database);

beforeAll(async () => {
  await addUser(database.db, 'grace', await hashPassword('the password of grace', QUICK_COST));
  // Before the test clock's time, so that her tokens were issued after it.
  await sql(database.db, "UPDATE users SET created_at = '2026-01-01'");
});

const storedTurn = () =>
  waitFor(async () => (await readMessages(database.db))[1] ?? null, 'a stored turn');

/** The running turns of a session, as a user sees them. */
async function list(server: ChatServer, session_id: string, username?: string) {
  const answer = await server.get(`/chat/turns?session_id=${session_id}`, username);
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { data: Record<string, unknown>[] }).data;
}

/** Asks in a new session. */
async function ask(server: ChatServer) {
  const session_id = randomUUID();
  const asked = { session_id, question: 'Is all well?', survives_disconnect: true };
  const client = await askStream(server, asked);
  const { request_id } = await client.until('info');
  return { client, session_id, request_id };
}

describe.each(stores)('a surviving turn stored %s', (_name, inRedis) => {
  const store = useStore(chat, inRedis);
  const { test, begin } = store;

  test('runs to its end when the client leaves, and is listed until then', async () => {
    const server = await begin();
    const gate = Promise.withResolvers<void>();
    scriptChat(chat.gateway, { text: ['All ', 'is well.'], gate: gate.promise });
    const ends_at = new Date(server.deps.clock.now() + 280_000).toISOString();
    const { client, session_id, request_id } = await ask(server);
    await client.until('token');
    await client.leave();
    expect(await list(server, session_id)).toEqual([{ request_id, ends_at, confirmation: null }]);
    expect(await list(server, session_id, 'grace')).toEqual([]);
    expect(await list(server, randomUUID())).toEqual([]);
    gate.resolve();
    expect(await storedTurn()).toMatchObject({ status: 'completed', content: 'All is well.' });
    await server.deps.settled();
    expect(await list(server, session_id)).toEqual([]);
  });

  test('ends at its deadline', async () => {
    const server = await begin();
    scriptChat(chat.gateway, { text: ['Half'], instead: 'hang' });
    const { client, session_id } = await ask(server);
    await client.until('token');
    await client.leave();
    server.deps.clock.advance(280_000);
    expect(await storedTurn()).toMatchObject({ status: 'failed', content: 'Half' });
    await server.deps.settled();
    expect(await list(server, session_id)).toEqual([]);
  });

  test('keeps its confirmation open, which can be found again and approved', async () => {
    const server = await begin();
    scriptChat(chat.gateway, { calls: [mailCall] }, { text: ['As you say.'] });
    const expires_at = new Date(server.deps.clock.now() + 120_000).toISOString();
    const { client, session_id } = await ask(server);
    const { confirm_id } = await client.until('confirm_required');
    await client.leave();
    const of = { name: 'send_report_email', args: mailArguments, tool_call_id: 'call_mail' };
    expect(await list(server, session_id)).toMatchObject([
      { confirmation: { confirm_id, ...of, expires_at } },
    ]);
    expect(await list(server, session_id, 'grace')).toEqual([]);
    expect(chat.mail.received).toHaveLength(0);
    expect((await decide(server, confirm_id, true, 'grace')).status).toBe(404);
    expect((await decide(server, confirm_id, true)).status).toBe(200);
    const turn = await advanceUntilSettled(server.deps, storedTurn());
    expect(turn).toMatchObject({
      status: 'completed',
      tool_calls: [{ success: true, decision: 'approved' }],
    });
    expect(chat.mail.received).toHaveLength(1);
  });

  test('no longer lists a confirmation once it is decided', async () => {
    const server = await begin();
    const gate = Promise.withResolvers<void>();
    scriptChat(chat.gateway, { calls: [mailCall] }, { text: ['Well,'], gate: gate.promise });
    const { client, session_id } = await ask(server);
    const { confirm_id } = await client.until('confirm_required');
    await decide(server, confirm_id, false);
    await advanceUntilSettled(server.deps, client.until('token'));
    expect(await list(server, session_id)).toMatchObject([{ confirmation: null }]);
    gate.resolve();
    await client.ended;
  });

  test('lets its confirmation expire when nobody comes back', async () => {
    const server = await begin();
    scriptChat(chat.gateway, { calls: [mailCall] }, { text: ['Nobody approved.'] });
    const { client } = await ask(server);
    const { confirm_id } = await client.until('confirm_required');
    await client.leave();
    server.deps.clock.advance(120_000);
    expect(await advanceUntilSettled(server.deps, storedTurn())).toMatchObject({
      status: 'completed',
      tool_calls: [{ success: false, decision: 'expired' }],
    });
    await expectState({ server, redis: store.redis }, confirm_id, 'expired');
    expect(chat.mail.received).toHaveLength(0);
  });

  test('can be stopped only by its user, and is stored with what exists of it', async () => {
    const server = await begin();
    scriptChat(chat.gateway, { text: ['Half'], instead: 'hang' });
    const { client, session_id, request_id } = await ask(server);
    await client.until('token');
    const stop = (username?: string) =>
      server.post('/chat/stop', { session_id, request_id }, username);
    expect((await stop('grace')).status).toBe(404);
    const answer = await stop();
    expect([answer.status, await answer.json()]).toMatchObject([200, { data: { request_id } }]);
    const events = await advanceUntilSettled(server.deps, client.ended);
    expect(events.slice(-2)).toMatchObject([
      { type: 'error', message: 'you stopped this turn', code: 'INTERNAL_ERROR' },
      { type: 'done' },
    ]);
    expect(await storedTurn()).toMatchObject({ status: 'failed', content: 'Half' });
    await server.deps.settled();
    expect((await stop()).status).toBe(404);
  });

  test('ends with the process, and is stored', async () => {
    const server = await begin();
    scriptChat(chat.gateway, { text: ['Half'], instead: 'hang' });
    const { client } = await ask(server);
    await client.until('token');
    await client.leave();
    server.stop();
    expect(await storedTurn()).toMatchObject({ status: 'failed', content: 'Half' });
  });

  test('is not listed if it could not begin', async () => {
    const server = await begin();
    const session_id = randomUUID();
    await server.post('/sessions', { id: session_id }, 'ada');
    const asked = { session_id, question: 'Mine?', survives_disconnect: true };
    expect((await server.post('/chat/stream', asked, 'grace')).status).toBe(404);
    expect(await list(server, session_id, 'grace')).toEqual([]);
  });
});

it('a surviving turn needs a session', async () => {
  const server = await chat.start();
  const asked = { question: 'Is all well?', survives_disconnect: true };
  const answer = await server.post('/chat/stream', asked);
  expect([answer.status, await answer.json()]).toMatchObject([
    400,
    { error: { details: [{ path: 'survives_disconnect' }] } },
  ]);
});

it('a user can have at most 20 surviving turns in one process', async () => {
  const server = await chat.start();
  const steps = Array.from({ length: 21 }, () => ({ text: ['Half'], instead: 'hang' as const }));
  scriptChat(chat.gateway, ...steps);
  for (let n = 0; n < 20; n += 1) await (await ask(server)).client.leave();
  const asked = { session_id: randomUUID(), question: 'And?', survives_disconnect: true };
  expect((await server.post('/chat/stream', asked)).status).toBe(429);
  expect((await askStream(server, asked, 'grace')).response.status).toBe(200);
});

describe.skipIf(!hasRedisServer)(
  'a surviving turn, asked for through another process that shares Redis',
  () => {
    let redis: UpstashRest;
    beforeAll(async () => {
      redis = await startUpstashRest();
    });
    afterAll(() => redis.close());
    const startTwo = async () => [
      await chat.start(redis.environment),
      await chat.start(redis.environment),
    ];

    it('is found and stopped', async () => {
      const [first, second] = (await startTwo()) as [ChatServer, ChatServer];
      scriptChat(chat.gateway, { text: ['Half'], instead: 'hang' });
      const { client, session_id, request_id } = await ask(first);
      await client.until('token');
      await client.leave();
      expect(await list(second, session_id)).toMatchObject([{ request_id }]);
      const stop = { session_id, request_id };
      expect((await second.post('/chat/stop', stop, 'grace')).status).toBe(404);
      expect((await second.post('/chat/stop', stop)).status).toBe(200);
      expect(await advanceUntilSettled(first.deps, storedTurn())).toMatchObject({
        status: 'failed',
      });
    });

    it('is forgotten a minute after its deadline when its process was killed', async () => {
      const [first, second] = (await startTwo()) as [ChatServer, ChatServer];
      scriptChat(chat.gateway, { text: ['Half'], instead: 'hang' });
      const { client, session_id } = await ask(first);
      await client.until('token');
      const key = `backup:turns:ada:${session_id}`;
      expect(Number(await redis.send(['PTTL', key]))).toBeLessThanOrEqual(340_000);
      second.deps.clock.advance(340_000);
      expect(await list(second, session_id)).toEqual([]);
    });

    it('continues while Redis is down, which is reported to whoever looks for it', async () => {
      const server = await chat.start(redis.environment);
      scriptChat(chat.gateway, { text: ['Yes.'] });
      redis.mode = 'fail';
      const session_id = randomUUID();
      const asked = { session_id, question: 'Well?', survives_disconnect: true };
      const { ended } = await askStream(server, asked);
      expect((await ended).at(-1)).toMatchObject({ type: 'done', answer: 'Yes.' });
      for (const answer of [
        await server.get(`/chat/turns?session_id=${session_id}`),
        await server.post('/chat/stop', { session_id, request_id: 'r' }),
      ]) {
        expect(answer.status).toBe(503);
      }
      redis.mode = 'serve';
    });
  },
);

it('a turn that was not asked to survive ends with its client', async () => {
  const server = await chat.start();
  scriptChat(chat.gateway, { text: ['Half'], instead: 'hang' });
  const session_id = randomUUID();
  const client = await askStream(server, { session_id, question: 'Well?' });
  await client.until('token');
  expect(await list(server, session_id)).toEqual([]);
  await client.leave();
  expect(await storedTurn()).toMatchObject({ status: 'failed', content: 'Half' });
});

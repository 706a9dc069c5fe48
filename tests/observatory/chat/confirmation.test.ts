import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hashPassword } from '../../../lib/platform/password.ts';
import { addUser } from '../../../lib/records/users.ts';
import {
  advanceUntilSettled,
  askStream,
  type ChatServer,
  chatEnvironment,
  emptyChat,
  readMessages,
  scriptChat,
  sentTo,
  startChatServer,
  waitFor,
} from '../../support/chat.ts';
import { createPostgres, type TestDatabase } from '../../support/databases.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { sql } from '../../support/records.ts';
import { hasRedisServer } from '../../support/redis-server.ts';
import { type ScriptedServer, startScriptedServer } from '../../support/scripted-server.ts';
import { startUpstashRest, type UpstashRest } from '../../support/upstash-rest.ts';

// A person's consent to send_report_email, decided in every way and through any process. (spec 2, Tool
// confirmation)

let database: TestDatabase;
let gateway: Gateway;
let mail: ScriptedServer;
const servers: ChatServer[] = [];

beforeAll(async () => {
  database = await createPostgres();
  await addUser(database.db, 'grace', await hashPassword('the password of grace'));
  // Before the time at which the clock of tests stands, so that her tokens are hers.
  await sql(database.db, "UPDATE users SET created_at = '2026-01-01'");
});
afterAll(() => database.close());
beforeEach(async () => {
  await emptyChat(database.db);
  gateway = await startGateway();
  mail = await startScriptedServer(() => ({ body: { id: randomUUID() } }));
});
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
  await gateway.close();
  await mail.close();
});

const args = {
  subject: 'The week',
  recipients: ['ops@example.com'],
  content_markdown: '# All is well',
};
const call = { id: 'call_mail', name: 'send_report_email', args };

async function start(environment: Record<string, string> = {}): Promise<ChatServer> {
  const server = await startChatServer({
    db: database.db,
    environment: {
      ...chatEnvironment(gateway),
      RESEND_API_KEY: 're_key_of_the_tests_0001',
      RESEND_BASE_URL: mail.url,
      SMTP_FROM: 'backups@example.com',
      SMTP_TO: 'ops@example.com',
      ...environment,
    },
  });
  servers.push(server);
  return server;
}

/** Asks for a mail and waits until the person is asked. */
async function askForMail(server: ChatServer) {
  scriptChat(gateway, { calls: [call] }, { text: ['As you say.'] });
  const client = await askStream(server, { question: 'Mail the week.' });
  const { confirm_id } = await client.until('confirm_required');
  return { client, confirm_id };
}

const decide = (server: ChatServer, confirm_id: string, approve: boolean, username?: string) =>
  server.post('/chat/confirm', { confirm_id, approve }, username);
const storedCalls = async () => (await readMessages(database.db))[1]?.tool_calls;
const typesOf = (events: { type: string }[]) => events.map(({ type }) => type);

const stores = [
  ['in the process', false],
  ['in Redis', true],
] as const;

describe.each(stores)('a confirmation %s', (_name, inRedis) => {
  let redis: UpstashRest | null = null;
  beforeAll(async () => {
    if (inRedis && hasRedisServer) redis = await startUpstashRest();
  });
  afterAll(() => redis?.close());
  const test = inRedis && !hasRedisServer ? it.skip : it;
  const begin = () => start(redis?.environment ?? {});

  test('that is approved runs the tool, once, with what was shown', async () => {
    const server = await begin();
    const { client, confirm_id } = await askForMail(server);
    expect(mail.received).toHaveLength(0);
    const answer = await decide(server, confirm_id, true);
    expect([answer.status, await answer.json()]).toEqual([
      200,
      {
        success: true,
        message: 'Decided',
        data: { confirm_id, approved: true, status: 'approved' },
      },
    ]);
    const events = await advanceUntilSettled(server.deps, client.ended);
    expect(typesOf(events)).toEqual([
      'info',
      'agent_reasoning',
      'confirm_required',
      'tool_start',
      'tool_end',
      'agent_reasoning',
      'token',
      'done',
    ]);
    const of = { name: 'send_report_email', tool_call_id: 'call_mail' };
    expect(events[2]).toEqual({ type: 'confirm_required', confirm_id, args, ...of });
    expect(events[3]).toEqual({ type: 'tool_start', args, ...of });
    expect(events[4]).toMatchObject({
      ...of,
      success: true,
      result: expect.stringContaining('sent'),
    });
    expect(mail.received).toHaveLength(1);
    expect(JSON.parse(mail.received[0]?.body ?? '')).toMatchObject({
      to: ['ops@example.com'],
      subject: 'The week',
    });
    expect(await storedCalls()).toMatchObject([{ tool_call_id: 'call_mail', args, success: true }]);
  });

  test('that is rejected ends with tool_end alone, and nothing is mailed', async () => {
    const server = await begin();
    const { client, confirm_id } = await askForMail(server);
    const answer = await server.post('/chat/confirm', { confirm_id, approved: false });
    expect(await answer.json()).toMatchObject({ data: { approved: false, status: 'rejected' } });
    const events = await advanceUntilSettled(server.deps, client.ended);
    expect(typesOf(events)).not.toContain('tool_start');
    expect(events.find(({ type }) => type === 'tool_end')).toEqual({
      type: 'tool_end',
      name: 'send_report_email',
      tool_call_id: 'call_mail',
      success: false,
      duration_ms: 0,
      error: 'The person rejected this call. It did not run.',
    });
    expect(mail.received).toHaveLength(0);
    expect(await storedCalls()).toMatchObject([{ success: false }]);
    // Our own words, which the model may trust.
    expect(sentTo(gateway, 1).at(-1)?.content).toBe(
      'The person rejected this call. It did not run.',
    );
  });

  test('that nobody decides expires, and a late decision is 409', async () => {
    const server = await begin();
    const { client, confirm_id } = await askForMail(server);
    server.deps.clock.advance(120_000);
    const events = await advanceUntilSettled(server.deps, client.ended);
    expect(events.find(({ type }) => type === 'tool_end')).toMatchObject({
      success: false,
      error: 'Nobody approved this call in time. It did not run.',
    });
    expect((await decide(server, confirm_id, true)).status).toBe(409);
    expect(mail.received).toHaveLength(0);
  });

  test('is 404 for another user, who changes nothing', async () => {
    const server = await begin();
    const { client, confirm_id } = await askForMail(server);
    expect((await decide(server, confirm_id, true, 'grace')).status).toBe(404);
    expect((await decide(server, confirm_id, false)).status).toBe(200);
    await advanceUntilSettled(server.deps, client.ended);
    expect(mail.received).toHaveLength(0);
  });

  test('that two decide at once is decided by one of them', async () => {
    const server = await begin();
    const { client, confirm_id } = await askForMail(server);
    const answers = await Promise.all(
      [true, false, true, false].map((approve) => decide(server, confirm_id, approve)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
    const approved = answers[0]?.status === 200 || answers[2]?.status === 200;
    await advanceUntilSettled(server.deps, client.ended);
    expect(mail.received).toHaveLength(approved ? 1 : 0);
  });

  test('expires when the client goes away, and the tool does not run', async () => {
    const server = await begin();
    const { client, confirm_id } = await askForMail(server);
    await client.leave();
    await waitFor(async () => (await storedCalls()) ?? null, 'the stored turn');
    expect(await readMessages(database.db)).toMatchObject([{}, { status: 'failed' }]);
    expect((await decide(server, confirm_id, true)).status).toBe(409);
    expect(mail.received).toHaveLength(0);
  });

  test('expires with the deadline, which then ends the turn', async () => {
    const server = await start({
      ...redis?.environment,
      HITL_CONFIRMATION_TIMEOUT_SECONDS: '400',
    });
    const { client, confirm_id } = await askForMail(server);
    server.deps.clock.advance(280_000);
    const events = await advanceUntilSettled(server.deps, client.ended);
    expect(events.slice(-3)).toMatchObject([
      { type: 'tool_end', success: false },
      { type: 'error', code: 'DEADLINE_EXCEEDED' },
      { type: 'done' },
    ]);
    expect((await decide(server, confirm_id, true)).status).toBe(409);
  });

  test('expires with the process', async () => {
    const server = await begin();
    const { client, confirm_id } = await askForMail(server);
    server.stop();
    await client.ended;
    expect((await decide(server, confirm_id, true)).status).toBe(409);
    expect(mail.received).toHaveLength(0);
  });
});

describe.skipIf(!hasRedisServer)('through a second process that shares Redis', () => {
  let redis: UpstashRest;
  beforeAll(async () => {
    redis = await startUpstashRest();
  });
  afterAll(() => redis.close());

  it('a decision reaches the waiting stream', async () => {
    const [first, second] = [await start(redis.environment), await start(redis.environment)];
    const { client, confirm_id } = await askForMail(first);
    expect((await decide(second, confirm_id, true)).status).toBe(200);
    await advanceUntilSettled(first.deps, client.ended);
    expect(mail.received).toHaveLength(1);
    expect((await decide(first, confirm_id, false)).status).toBe(409);
  });

  it('is kept for 24 hours', async () => {
    const server = await start(redis.environment);
    const { confirm_id } = await askForMail(server);
    const left = Number(await redis.send(['PTTL', `backup:confirmation:${confirm_id}`]));
    expect(left).toBeGreaterThan(86_400_000);
    expect(left).toBeLessThanOrEqual(86_400_000 + 120_000);
  });

  it('arguments that were changed in the store since are not run', async () => {
    const server = await start(redis.environment);
    const { client, confirm_id } = await askForMail(server);
    await redis.send(['HSET', `backup:confirmation:${confirm_id}`, 'hash', 'another']);
    await decide(server, confirm_id, true);
    const events = await advanceUntilSettled(server.deps, client.ended);
    expect(events.find(({ type }) => type === 'tool_end')).toMatchObject({ success: false });
    expect(mail.received).toHaveLength(0);
  });

  it('is 503 while Redis is away, and nobody is asked', async () => {
    const server = await start(redis.environment);
    redis.mode = 'fail';
    const answer = await decide(server, randomUUID(), true);
    expect([answer.status, await answer.json()]).toMatchObject([
      503,
      { error: { code: 'SERVICE_UNAVAILABLE' } },
    ]);
    scriptChat(gateway, { calls: [call] }, { text: ['It could not be asked.'] });
    const events = await (await askStream(server, { question: 'Mail.' })).ended;
    redis.mode = 'serve';
    expect(typesOf(events)).not.toContain('confirm_required');
    expect(events.find(({ type }) => type === 'tool_end')).toMatchObject({ success: false });
  });
});

describe('POST /chat/confirm', () => {
  it.each([
    ['a malformed confirm_id', { confirm_id: 'x', approve: true }, 422, 'VALIDATION_ERROR'],
    ['no decision', { confirm_id: randomUUID() }, 400, 'VALIDATION_ERROR'],
    [
      'two decisions',
      { confirm_id: randomUUID(), approve: true, approved: false },
      400,
      'VALIDATION_ERROR',
    ],
    ['an unknown confirm_id', { confirm_id: randomUUID(), approve: true }, 404, 'NOT_FOUND'],
  ])('refuses %s', async (_case, body, status, code) => {
    const answer = await (await start()).post('/chat/confirm', body);
    expect([answer.status, await answer.json()]).toMatchObject([status, { error: { code } }]);
  });
});

it('asks nobody about arguments that do not fit', async () => {
  const server = await start();
  const calls = [{ ...call, args: { subject: 'The week', recipients: [] } }];
  scriptChat(gateway, { calls }, { text: ['Hm.'] });
  const events = await (await askStream(server, { question: 'Mail.' })).ended;
  expect(typesOf(events)).not.toContain('confirm_required');
  expect(events.find(({ type }) => type === 'tool_end')).toMatchObject({
    success: false,
    error: expect.stringContaining('recipients'),
  });
});

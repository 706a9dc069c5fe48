import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashPassword } from '../../../lib/security/password.ts';
import { addUser } from '../../../lib/users/users.ts';
import {
  advanceUntilSettled,
  askStream,
  readMessages,
  scriptChat,
  sentTo,
  waitFor,
} from '../../support/chat.ts';
import { useDatabase } from '../../support/hooks.ts';
import { untilAsleep } from '../../support/live.ts';
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

// A person's decision about send_report_email, made in every way and through any process.

const database = useDatabase();
const chat = useMailChat(database);

beforeAll(async () => {
  await addUser(database.db, 'grace', await hashPassword('the password of grace', QUICK_COST));
  // Before the test clock's time, so that her tokens were issued after it.
  await sql(database.db, "UPDATE users SET created_at = '2026-01-01'");
});

const storedTurn = async () => (await readMessages(database.db))[1];
const mailed = { tool_call_id: 'call_mail', args: mailArguments };
const typesOf = (events: { type: string }[]) => events.map(({ type }) => type);

describe.each(stores)('a confirmation stored %s', (_name, inRedis) => {
  const store = useStore(chat, inRedis);
  const { test, begin } = store;

  test('runs the tool once, with the arguments shown, when approved', async () => {
    const server = await begin();
    const expires_at = new Date(server.deps.clock.now() + 120_000).toISOString();
    const { client, confirm_id } = await chat.askForMail(server);
    expect(chat.mail.received).toHaveLength(0);
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
    const asked = { confirm_id, args: mailArguments, ...of };
    expect(events[2]).toEqual({ type: 'confirm_required', ...asked, expires_at });
    expect(events[3]).toEqual({ type: 'tool_start', args: mailArguments, ...of });
    expect(events[4]).toMatchObject({
      ...of,
      success: true,
      result: expect.stringContaining('sent'),
      decision: 'approved',
    });
    expect(chat.mail.received).toHaveLength(1);
    expect(JSON.parse(chat.mail.received[0]?.body ?? '')).toMatchObject({
      to: ['ops@example.com'],
      subject: 'The week',
    });
    expect(await storedTurn()).toMatchObject({
      status: 'completed',
      content: 'As you say.',
      tool_calls: [{ ...mailed, success: true, decision: 'approved' }],
    });
    await expectState({ server, redis: store.redis }, confirm_id, 'approved');
    expect(chat.mail.received).toHaveLength(1);
  });

  test('is waited for with a comment every 15 seconds, so that no proxy disconnects', async () => {
    const server = await begin();
    const { client, confirm_id } = await chat.askForMail(server);
    for (const count of [1, 2, 3]) {
      // The deadline, the poll and the comments.
      await untilAsleep(server.deps, 3);
      server.deps.clock.advance(15_000);
      await expect.poll(() => client.comments).toEqual(Array(count).fill(': ping'));
    }
    expect((await decide(server, confirm_id, true)).status).toBe(200);
    const events = await advanceUntilSettled(server.deps, client.ended);
    expect(events.at(-1)).toMatchObject({ type: 'done', answer: 'As you say.' });
    expect(chat.mail.received).toHaveLength(1);
  });

  test('ends with tool_end alone when rejected, and nothing is mailed', async () => {
    const server = await begin();
    const { client, confirm_id } = await chat.askForMail(server);
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
      decision: 'rejected',
    });
    expect(chat.mail.received).toHaveLength(0);
    expect(await storedTurn()).toMatchObject({
      status: 'completed',
      tool_calls: [{ ...mailed, success: false, decision: 'rejected' }],
    });
    await expectState({ server, redis: store.redis }, confirm_id, 'rejected');
    // Our own words, which the model may trust.
    expect(sentTo(chat.gateway, 1).at(-1)?.content).toBe(
      'The person rejected this call. It did not run.',
    );
  });

  test('expires without a decision, and a late one gets 409', async () => {
    const server = await begin();
    const { client, confirm_id } = await chat.askForMail(server);
    server.deps.clock.advance(120_000);
    const events = await advanceUntilSettled(server.deps, client.ended);
    expect(events.find(({ type }) => type === 'tool_end')).toMatchObject({
      success: false,
      error: 'Nobody approved this call in time. It did not run.',
    });
    await expectState({ server, redis: store.redis }, confirm_id, 'expired');
    expect(await storedTurn()).toMatchObject({
      status: 'completed',
      tool_calls: [
        { success: false, error: expect.stringContaining('in time'), decision: 'expired' },
      ],
    });
    expect(chat.mail.received).toHaveLength(0);
  });

  test('is 404 for another user, whose decision changes nothing', async () => {
    const server = await begin();
    const { client, confirm_id } = await chat.askForMail(server);
    expect((await decide(server, confirm_id, true, 'grace')).status).toBe(404);
    expect((await decide(server, confirm_id, false)).status).toBe(200);
    await advanceUntilSettled(server.deps, client.ended);
    await expectState({ server, redis: store.redis }, confirm_id, 'rejected');
    expect(await storedTurn()).toMatchObject({
      status: 'completed',
      tool_calls: [{ success: false }],
    });
    expect(chat.mail.received).toHaveLength(0);
  });

  test('is decided by only one of two simultaneous decisions', async () => {
    const server = await begin();
    const { client, confirm_id } = await chat.askForMail(server);
    const answers = await Promise.all(
      [true, false, true, false].map((approve) => decide(server, confirm_id, approve)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
    const approved = answers[0]?.status === 200 || answers[2]?.status === 200;
    await advanceUntilSettled(server.deps, client.ended);
    expect(chat.mail.received).toHaveLength(approved ? 1 : 0);
    await expectState(
      { server, redis: store.redis },
      confirm_id,
      approved ? 'approved' : 'rejected',
    );
    expect(await storedTurn()).toMatchObject({
      status: 'completed',
      tool_calls: [{ success: approved }],
    });
  });

  test('expires when the client disconnects, and the tool does not run', async () => {
    const server = await begin();
    const { client, confirm_id } = await chat.askForMail(server);
    await client.leave();
    const turn = await waitFor(async () => (await storedTurn()) ?? null, 'the stored turn');
    expect(turn).toMatchObject({ status: 'failed', tool_calls: [{ success: false }] });
    await expectState({ server, redis: store.redis }, confirm_id, 'expired');
    expect(chat.mail.received).toHaveLength(0);
  });

  test('expires at the deadline, which then ends the turn', async () => {
    const server = await chat.start({
      ...store.redis?.environment,
      HITL_CONFIRMATION_TIMEOUT_SECONDS: '400',
    });
    const { client, confirm_id } = await chat.askForMail(server);
    server.deps.clock.advance(280_000);
    const events = await advanceUntilSettled(server.deps, client.ended);
    expect(events.slice(-3)).toMatchObject([
      { type: 'tool_end', success: false },
      { type: 'error', code: 'DEADLINE_EXCEEDED' },
      { type: 'done' },
    ]);
    await expectState({ server, redis: store.redis }, confirm_id, 'expired');
    expect(await storedTurn()).toMatchObject({
      status: 'failed',
      tool_calls: [{ success: false }],
    });
  });

  test('expires when the process ends', async () => {
    const server = await begin();
    const { client, confirm_id } = await chat.askForMail(server);
    server.stop();
    await client.ended;
    await expectState({ server, redis: store.redis }, confirm_id, 'expired');
    expect(await storedTurn()).toMatchObject({
      status: 'failed',
      tool_calls: [{ success: false }],
    });
    expect(chat.mail.received).toHaveLength(0);
  });
});

describe.skipIf(!hasRedisServer)(
  'a confirmation decided through a second process that shares Redis',
  () => {
    let redis: UpstashRest;
    beforeAll(async () => {
      redis = await startUpstashRest();
    });
    afterAll(() => redis.close());

    it('reaches the waiting stream', async () => {
      const [first, second] = [
        await chat.start(redis.environment),
        await chat.start(redis.environment),
      ];
      const { client, confirm_id } = await chat.askForMail(first);
      expect((await decide(second, confirm_id, true)).status).toBe(200);
      await advanceUntilSettled(first.deps, client.ended);
      expect(chat.mail.received).toHaveLength(1);
      await expectState({ server: first, redis }, confirm_id, 'approved');
      expect(await storedTurn()).toMatchObject({
        status: 'completed',
        tool_calls: [{ success: true }],
      });
    });

    it('is kept for 24 hours', async () => {
      const server = await chat.start(redis.environment);
      const { confirm_id } = await chat.askForMail(server);
      const left = Number(await redis.send(['PTTL', `backup:confirmation:${confirm_id}`]));
      expect(left).toBeGreaterThan(86_400_000);
      expect(left).toBeLessThanOrEqual(86_400_000 + 120_000);
    });

    it('does not run the tool if its arguments were changed in the store', async () => {
      const server = await chat.start(redis.environment);
      const { client, confirm_id } = await chat.askForMail(server);
      await redis.send(['HSET', `backup:confirmation:${confirm_id}`, 'hash', 'another']);
      await decide(server, confirm_id, true);
      const events = await advanceUntilSettled(server.deps, client.ended);
      expect(events.find(({ type }) => type === 'tool_end')).toMatchObject({ success: false });
      expect(chat.mail.received).toHaveLength(0);
    });

    it('gets 503 while Redis is down, and nobody is asked', async () => {
      const server = await chat.start(redis.environment);
      redis.mode = 'fail';
      const answer = await decide(server, randomUUID(), true);
      expect([answer.status, await answer.json()]).toMatchObject([
        503,
        { error: { code: 'SERVICE_UNAVAILABLE' } },
      ]);
      scriptChat(chat.gateway, { calls: [mailCall] }, { text: ['It could not be asked.'] });
      const events = await (await askStream(server, { question: 'Mail.' })).ended;
      redis.mode = 'serve';
      expect(typesOf(events)).not.toContain('confirm_required');
      expect(events.find(({ type }) => type === 'tool_end')).toMatchObject({ success: false });
    });
  },
);

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
  ])('rejects %s', async (_case, body, status, code) => {
    const answer = await (await chat.start()).post('/chat/confirm', body);
    expect([answer.status, await answer.json()]).toMatchObject([status, { error: { code } }]);
  });
});

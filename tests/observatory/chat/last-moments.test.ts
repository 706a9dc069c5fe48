import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { advanceUntilSettled, readMessages, waitFor } from '../../support/chat.ts';
import { useDatabase } from '../../support/hooks.ts';
import { untilAsleep } from '../../support/live.ts';
import { decide, expectState, stores, useMailChat, useStore } from '../../support/mail-chat.ts';
import { hasRedisServer } from '../../support/redis-server.ts';
import { startUpstashRest, type UpstashRest } from '../../support/upstash-rest.ts';

// If a person is told that a call is approved, it runs, whatever happens between the decision and the stream's
// next poll. Nothing runs twice.

const database = useDatabase();
const chat = useMailChat(database);

const storedTurn = () =>
  waitFor(async () => (await readMessages(database.db))[1] ?? null, 'a stored turn');

describe.each(stores)('an approval stored %s', (_name, inRedis) => {
  const store = useStore(chat, inRedis);
  const { test, begin } = store;

  test('is carried out and stored although its user then disconnects', async () => {
    const server = await begin();
    const { client, confirm_id } = await chat.askForMail(server);
    expect((await decide(server, confirm_id, true)).status).toBe(200);
    await client.leave();
    expect(await storedTurn()).toMatchObject({
      status: 'failed',
      tool_calls: [{ tool_call_id: 'call_mail', success: true }],
    });
    expect(chat.mail.received).toHaveLength(1);
    await expectState({ server, redis: store.redis }, confirm_id, 'approved');
  });

  test('is carried out if given just before the deadline, which then ends the turn', async () => {
    const server = await chat.start({
      ...store.redis?.environment,
      AGENT_REQUEST_DEADLINE_SECONDS: '0.4',
    });
    const { client, confirm_id } = await chat.askForMail(server);
    expect((await decide(server, confirm_id, true)).status).toBe(200);
    server.deps.clock.advance(400);
    expect((await client.ended).slice(-4)).toMatchObject([
      { type: 'tool_start' },
      { type: 'tool_end', success: true },
      { type: 'error', code: 'DEADLINE_EXCEEDED' },
      { type: 'done' },
    ]);
    expect(chat.mail.received).toHaveLength(1);
  });

  test('is carried out completely when its user disconnects meanwhile', async () => {
    const asked = Promise.withResolvers<void>();
    const mayAnswer = Promise.withResolvers<void>();
    chat.answerMail = () => async (response) => {
      asked.resolve();
      await mayAnswer.promise;
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"id":"m1"}');
    };
    const server = await begin();
    const { client, confirm_id } = await chat.askForMail(server);
    await decide(server, confirm_id, true);
    await advanceUntilSettled(server.deps, asked.promise);
    await client.leave();
    mayAnswer.resolve();
    expect(await storedTurn()).toMatchObject({ status: 'failed', tool_calls: [{ success: true }] });
    expect(chat.mail.received).toHaveLength(1);
  });
});

describe.skipIf(!hasRedisServer)('an approval while answers of Redis are lost', () => {
  let redis: UpstashRest;
  beforeAll(async () => {
    redis = await startUpstashRest();
  });
  afterAll(() => redis.close());

  it('is found by the next poll, and the tool runs once', async () => {
    const server = await chat.start(redis.environment);
    const { client, confirm_id } = await chat.askForMail(server);
    await decide(server, confirm_id, true);
    redis.mode = 'lose';
    server.deps.clock.advance(500);
    const spent = async () =>
      (await redis.send(['HGET', `backup:confirmation:${confirm_id}`, 'spent'])) as string | null;
    await waitFor(spent, 'a look at the approval');
    // The turn's deadline, the next poll and the next comment.
    await untilAsleep(server.deps, 3);
    expect(chat.mail.received).toHaveLength(0);
    redis.mode = 'serve';
    const events = await advanceUntilSettled(server.deps, client.ended);
    expect(events.find(({ type }) => type === 'tool_end')).toMatchObject({ success: true });
    expect(chat.mail.received).toHaveLength(1);
  });
});

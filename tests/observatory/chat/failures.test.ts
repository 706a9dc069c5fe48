import { describe, expect, it } from 'vitest';
import { databaseUnavailable } from '../../../lib/database/database.ts';
import {
  advanceUntilSettled,
  askStream,
  readMessages,
  scriptChat,
  waitFor,
} from '../../support/chat.ts';
import { setUpChat } from '../../support/chat-world.ts';
import type { ScriptedAnswer } from '../../support/gateway.ts';

// What ends a turn early: the gateway, the deadline, the client or the process.

const chat = setUpChat();

const PATH = '/chat/completions';
const question = { question: 'Is all well?' };
const keysUsed = () => chat.gateway.requestsTo(PATH).map(({ key }) => key);
/** The stored turn, once it is stored. */
const storedTurn = () =>
  waitFor(async () => (await readMessages(chat.database.db))[1] ?? null, 'a stored turn');
/** Resolves when the gateway has received a request. */
const untilAsked = () => waitFor(() => chat.gateway.requestsTo(PATH)[0] ?? null, 'a request');

describe('a chat turn', () => {
  it.each([401, 402, 429])('fails over to the next server key on %i', async (status) => {
    chat.gateway.refusedKeys.set('server-key-number-1', status);
    scriptChat(chat.gateway, { text: ['Yes.'] });
    const events = await (await askStream(chat.server, question)).ended;
    expect(events.at(-1)).toMatchObject({ type: 'done', answer: 'Yes.' });
    expect(keysUsed()).toEqual(['server-key-number-1', 'server-key-number-2']);
  });

  it('fails over if the refusal is the first event of the stream', async () => {
    scriptChat(chat.gateway, { error: { code: 429, message: 'slow down' } }, { text: ['Yes.'] });
    const events = await (await askStream(chat.server, question)).ended;
    expect(events.at(-1)).toMatchObject({ type: 'done', answer: 'Yes.' });
    expect(keysUsed()).toEqual(['server-key-number-1', 'server-key-number-2']);
  });

  it('does not fail over after the first token', async () => {
    scriptChat(chat.gateway, { text: ['Ye'], error: { code: 429, message: 'slow down' } });
    const { ended, response } = await askStream(chat.server, question);
    const events = await ended;
    const request_id = response.headers.get('x-request-id');
    const message = 'the model gateway limits the rate of requests';
    expect(events.slice(-2)).toEqual([
      { type: 'error', message, code: 'GATEWAY_RATE_LIMITED', request_id },
      { type: 'done', answer: `Ye\n\n${message}`, request_id, finish_reason: null },
    ]);
    expect(keysUsed()).toHaveLength(1);
    expect(await storedTurn()).toMatchObject({ status: 'failed', content: 'Ye' });
  });
});

describe('a failure of the gateway', () => {
  const refused = (status: number): ScriptedAnswer => ({
    status,
    body: { error: { code: status, message: 'the inner words of the gateway' } },
  });
  it.each<[string, ScriptedAnswer, string]>([
    ['400', refused(400), 'GATEWAY_BAD_REQUEST'],
    ['401 for every key', refused(401), 'GATEWAY_ERROR'],
    ['402 for every key', refused(402), 'GATEWAY_OUT_OF_CREDITS'],
    ['429 for every key', refused(429), 'GATEWAY_RATE_LIMITED'],
    ['500', refused(500), 'GATEWAY_UNAVAILABLE'],
    ['a reset connection', { instead: 'reset' }, 'GATEWAY_UNAVAILABLE'],
    ['a redirect', { status: 302, headers: { Location: 'http://127.0.0.1:9/' } }, 'GATEWAY_ERROR'],
    ['an answer that is not a stream', { body: { choices: [] } }, 'GATEWAY_ERROR'],
    ['a 200 with an error', { body: refused(402).body }, 'GATEWAY_OUT_OF_CREDITS'],
  ])('becomes an error event and then done when it is %s', async (_case, answer, code) => {
    chat.gateway.always = answer;
    const events = await (await askStream(chat.server, question)).ended;
    expect(events.map(({ type }) => type)).toEqual(['info', 'agent_reasoning', 'error', 'done']);
    const [, , error, done] = events;
    expect(error).toMatchObject({ code });
    expect(JSON.stringify(events)).not.toContain('inner words');
    // Nothing is retried with the same key.
    expect(keysUsed()).toEqual([...new Set(keysUsed())]);
    expect(done).toMatchObject({ answer: error && 'message' in error ? error.message : '' });
    expect(await storedTurn()).toMatchObject({ status: 'failed', content: '', tool_calls: [] });
  });

  it.each(['close', 'reset'] as const)(
    'becomes GATEWAY_UNAVAILABLE when a stream breaks off by %s',
    async (instead) => {
      const gate = Promise.withResolvers<void>();
      scriptChat(chat.gateway, { text: ['Half an'], gate: gate.promise, instead });
      const { ended, until } = await askStream(chat.server, question);
      await until('token');
      gate.resolve();
      const events = await ended;
      expect(events.slice(-2)).toMatchObject([
        { type: 'error', code: 'GATEWAY_UNAVAILABLE' },
        { type: 'done', answer: expect.stringMatching(/^Half an/) },
      ]);
      expect(await storedTurn()).toMatchObject({ status: 'failed', content: 'Half an' });
    },
  );

  it.each(['a reset', 'silence'])(
    'is ignored when it is %s after a complete answer',
    async (end) => {
      const gate = Promise.withResolvers<void>();
      chat.gateway.routes.set(PATH, async (_request, response) => {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        response.write(
          'data: {"choices":[{"delta":{"content":"Yes."},"finish_reason":"stop"}]}\n\n',
        );
        await gate.promise;
        response.destroy();
      });
      const { ended, until } = await askStream(chat.server, question);
      await until('token');
      if (end === 'a reset') gate.resolve();
      else chat.server.deps.clock.advance(30_000);
      expect((await ended).at(-1)).toMatchObject({ type: 'done', answer: 'Yes.' });
      expect(await storedTurn()).toMatchObject({ status: 'completed', content: 'Yes.' });
      gate.resolve();
    },
  );

  it.each(['before its head', 'in mid-stream'])(
    'becomes a time-out when the gateway hangs %s',
    async (when) => {
      if (when === 'in mid-stream') scriptChat(chat.gateway, { text: ['Wait'], instead: 'hang' });
      else chat.gateway.always = { instead: 'hang' };
      const { ended, until } = await askStream(chat.server, question);
      if (when === 'in mid-stream') await until('token');
      await untilAsked();
      chat.server.deps.clock.advance(29_999);
      chat.server.deps.clock.advance(1);
      expect((await ended).at(-2)).toMatchObject({ type: 'error', code: 'GATEWAY_UNAVAILABLE' });
      expect(await storedTurn()).toMatchObject({
        status: 'failed',
        content: when === 'in mid-stream' ? 'Wait' : '',
      });
    },
  );

  it("makes the next turn 403, without a stream, when it is a 401 for a user's own key", async () => {
    await chat.server.post('/me/gateway/exchange', { code: 'c', code_verifier: 'v'.repeat(43) });
    chat.gateway.refusedKeys.set(chat.gateway.issuedKey, 401);
    const events = await (await askStream(chat.server, question)).ended;
    expect(events.at(-2)).toMatchObject({ type: 'error', code: 'GATEWAY_KEY_INVALID' });
    expect(keysUsed()).toEqual([chat.gateway.issuedKey]);
    const next = await chat.server.post('/chat/stream', question);
    expect(next.status).toBe(403);
    expect(await next.json()).toMatchObject({ error: { code: 'GATEWAY_KEY_INVALID' } });
    expect(await readMessages(chat.database.db)).toHaveLength(2);
  });

  it.each([
    [402, 'GATEWAY_OUT_OF_CREDITS'],
    [429, 'GATEWAY_RATE_LIMITED'],
  ])(
    "is reported for a user's own key (%i as %s), and no other key is tried",
    async (status, code) => {
      await chat.server.post('/me/gateway/exchange', { code: 'c', code_verifier: 'v'.repeat(43) });
      chat.gateway.refusedKeys.set(chat.gateway.issuedKey, status);
      const events = await (await askStream(chat.server, question)).ended;
      expect(events.at(-2)).toMatchObject({ type: 'error', code });
      expect(keysUsed()).toEqual([chat.gateway.issuedKey]);
      expect(await storedTurn()).toMatchObject({ status: 'failed', content: '' });
      // The key is still valid.
      chat.gateway.refusedKeys.clear();
      scriptChat(chat.gateway, { text: ['Yes.'] });
      const next = await (await askStream(chat.server, question)).ended;
      expect(next.at(-1)).toMatchObject({ type: 'done', answer: 'Yes.' });
    },
  );
});

describe('the deadline', () => {
  it('ends a model that trickles forever', async () => {
    let trickling: NodeJS.Timeout | undefined;
    chat.gateway.routes.set(PATH, (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      trickling = setInterval(() => {
        response.write('data: {"choices":[{"index":0,"delta":{"content":"."}}]}\n\n');
      }, 2);
    });
    const { ended, until } = await askStream(chat.server, question);
    await until('token');
    // Never silent for longer than the gateway's time-out.
    const events = await advanceUntilSettled(chat.server.deps, ended);
    clearInterval(trickling);
    expect(events.slice(-2)).toMatchObject([
      { type: 'error', code: 'DEADLINE_EXCEEDED' },
      { type: 'done', answer: expect.stringMatching(/^\.+\n\nthe answer took longer than 280 s/) },
    ]);
    expect(await storedTurn()).toMatchObject({
      status: 'failed',
      content: expect.stringMatching(/^\.+$/),
    });
  });
});

describe('a disconnect of the client', () => {
  it.each([
    ['that came before the first token', []],
    ['that came in mid-text', ['Some ', 'words']],
  ])('%s stores the turn as failed, with what was streamed', async (_case, text) => {
    scriptChat(chat.gateway, { text, instead: 'hang' });
    const client = await askStream(chat.server, question);
    await untilAsked();
    await waitFor(
      () => client.events.filter(({ type }) => type === 'token').length === text.length || null,
      'all tokens',
    );
    await client.leave();
    expect(await storedTurn()).toMatchObject({
      status: 'failed',
      content: text.join(''),
    });
  });

  it('stores the arguments of the call when it comes while a tool runs', async () => {
    const calls = [{ id: 'c1', name: 'list_backup_runs' }];
    scriptChat(chat.gateway, { calls });
    const gate = Promise.withResolvers<void>();
    chat.db.before((statement) =>
      statement.text.includes('backup_runs') ? gate.promise : undefined,
    );
    const client = await askStream(chat.server, question);
    await client.until('tool_start');
    await client.leave();
    expect(await storedTurn()).toMatchObject({
      status: 'failed',
      tool_calls: [{ tool_call_id: 'c1', success: false }],
    });
    gate.resolve();
  });
});

describe('the end of the process', () => {
  it('ends the stream with an error and stores the turn', async () => {
    scriptChat(chat.gateway, { text: ['Some words'], instead: 'hang' });
    const { ended, until } = await askStream(chat.server, question);
    await until('token');
    chat.server.stop();
    expect((await ended).slice(-2)).toMatchObject([
      { type: 'error', code: 'INTERNAL_ERROR', message: 'the service is stopping: ask again' },
      { type: 'done' },
    ]);
    await chat.server.deps.settled();
    expect(await readMessages(chat.database.db)).toMatchObject([
      { role: 'user' },
      { role: 'assistant', status: 'failed', content: 'Some words' },
    ]);
  });
});

describe('the chat history', () => {
  it('contains the question before the model is asked', async () => {
    const seen: unknown[] = [];
    chat.gateway.routes.set(PATH, async (_request, response) => {
      seen.push(...(await readMessages(chat.database.db)));
      response.writeHead(500).end();
    });
    await (await askStream(chat.server, question)).ended;
    expect(seen).toMatchObject([{ role: 'user', content: 'Is all well?' }]);
  });

  it.each([
    [
      'does not answer',
      () => databaseUnavailable(new Error('gone')),
      'the database is unavailable',
    ],
    ['lacks the table', () => new Error('no such table'), 'the chat history is unavailable'],
  ])(
    'answers a plain 503 if the database %s when the question is stored',
    async (_case, fault, message) => {
      chat.db.before((statement) => {
        if (statement.name === 'begin_chat_turn') throw fault();
      });
      for (const path of ['/chat', '/chat/stream']) {
        const answer = await chat.server.post(path, question);
        expect([answer.status, await answer.json()]).toMatchObject([
          503,
          { error: { code: 'SERVICE_UNAVAILABLE', message } },
        ]);
      }
      expect(keysUsed()).toEqual([]);
    },
  );

  it('makes the turn fail with an error event if it cannot be stored', async () => {
    scriptChat(chat.gateway, { text: ['Yes.'] });
    chat.db.before((statement) => {
      if (statement.name === 'end_chat_turn') throw new Error('disk full');
    });
    const events = await (await askStream(chat.server, question)).ended;
    expect(events.slice(-2)).toMatchObject([
      { type: 'error', code: 'INTERNAL_ERROR', message: expect.stringContaining('not be stored') },
      { type: 'done' },
    ]);
    expect(JSON.stringify(events)).not.toContain('disk full');
  });
});

import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { askStream, readMessages, scriptChat, sentTo } from '../../support/chat.ts';
import { setUpChat } from '../../support/chat-world.ts';
import { untilAsleep } from '../../support/live.ts';
import { sql } from '../../support/records.ts';

// Why an answer ended, what came before and after it, and what keeps its connection open.

const chat = setUpChat();

const question = { question: 'Is all well?' };
const ask = async (asked: object = question) => (await askStream(chat.server, asked)).ended;
/** The messages of a session, as the API returns them. */
async function messagesOf(session: string) {
  const answer = await chat.server.get(`/sessions/${session}/messages`);
  const { data } = (await answer.json()) as { data: Record<string, unknown>[] };
  return data;
}

describe('what follows a finished answer is ignored:', () => {
  const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
  it.each<[string, unknown]>([
    ['usage without choices', { id: 'c', usage }],
    ['usage with choices that are null', { id: 'c', choices: null, usage }],
    ['usage with empty choices', { id: 'c', choices: [], usage }],
    ['an error', { error: { code: 500, message: 'too late' } }],
    ['an event of another shape', { id: 'c', choices: 'none' }],
    ['a number', 7],
    ['more text', { choices: [{ delta: { content: ' Not.' }, finish_reason: 'stop' }] }],
  ])('%s', async (_case, event) => {
    scriptChat(chat.gateway, { text: ['Yes.'], after: [event, event] });
    expect((await ask()).slice(-2)).toMatchObject([
      { type: 'token', text: 'Yes.' },
      { type: 'done', answer: 'Yes.', finish_reason: 'stop' },
    ]);
    expect((await readMessages(chat.database.db))[1]).toMatchObject({ status: 'completed' });
  });

  it('usage after a tool call, which runs', async () => {
    const calls = [{ id: 'c1', name: 'list_backup_runs' }];
    scriptChat(
      chat.gateway,
      { calls, after: [{ usage }] },
      { text: ['None.'], after: [{ usage }] },
    );
    const answer = await chat.server.post('/chat', question);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({
      data: {
        answer: 'None.',
        finish_reason: 'stop',
        tool_calls: [{ tool_call_id: 'c1', success: true }],
      },
    });
  });

  it('and usage without choices before its end too', async () => {
    chat.gateway.routes.set('/chat/completions', (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      const events = [
        { usage: null },
        { choices: null },
        { choices: [{ delta: { content: 'Yes.' }, finish_reason: '' }], error: null },
        { choices: [{ delta: null, finish_reason: 'stop' }] },
      ];
      // The last event has no blank line after it.
      response.end(events.map((event) => `data: ${JSON.stringify(event)}`).join('\r\n\r\n'));
    });
    expect((await ask()).at(-1)).toMatchObject({ answer: 'Yes.', finish_reason: 'stop' });
  });
});

describe('the finish reason', () => {
  it.each([
    ['length', 'length'],
    ['max_tokens', 'length'],
    ['content_filter', 'content_filter'],
    ['SAFETY', 'content_filter'],
    ['stop', 'stop'],
    ['eos', 'stop'],
  ])('%s is %s in the stream, in the answer and in the history', async (finish, reason) => {
    const session_id = randomUUID();
    scriptChat(chat.gateway, { text: ['Half an'], finish }, { text: ['Half an'], finish });
    expect((await ask({ ...question, session_id })).at(-1)).toMatchObject({
      answer: 'Half an',
      finish_reason: reason,
    });
    const answer = await chat.server.post('/chat', { ...question, session_id });
    expect(await answer.json()).toMatchObject({
      data: { answer: 'Half an', finish_reason: reason },
    });
    const stored = await messagesOf(session_id);
    expect(stored.map(({ finish_reason }) => finish_reason)).toEqual([null, reason, null, reason]);
  });

  it.each(['length', 'content_filter'])('%s of an empty answer is no failure', async (finish) => {
    scriptChat(chat.gateway, { finish });
    expect((await ask()).at(-1)).toMatchObject({ answer: '', finish_reason: finish });
    expect((await readMessages(chat.database.db))[1]).toMatchObject({ status: 'completed' });
  });

  it('is null for an answer that failed, and error is a failure', async () => {
    const session_id = randomUUID();
    scriptChat(chat.gateway, { text: ['Half'], finish: 'error' });
    expect((await ask({ ...question, session_id })).slice(-2)).toMatchObject([
      { type: 'error', code: 'GATEWAY_ERROR' },
      { type: 'done', finish_reason: null },
    ]);
    expect((await messagesOf(session_id))[1]).toMatchObject({
      status: 'failed',
      finish_reason: null,
    });
  });
});

describe('the reasoning of a model', () => {
  const pieces = ['<th', 'ink>Hm', '.</thi', 'nk>\n\nY', 'es.'];

  it('is no part of the answer, and is sent, stored and not repeated to the model', async () => {
    const session_id = randomUUID();
    scriptChat(chat.gateway, { text: pieces }, { text: pieces }, { text: ['Yes.'] });
    const events = await ask({ ...question, session_id });
    const said = (type: 'token' | 'reasoning') =>
      events.map((event) => (event.type === type ? event.text : '')).join('');
    expect([said('reasoning'), said('token')]).toEqual(['Hm.', 'Yes.']);
    expect(events.at(-1)).toMatchObject({ answer: 'Yes.' });
    const answer = await chat.server.post('/chat', question);
    expect(await answer.json()).toMatchObject({ data: { answer: 'Yes.', reasoning: 'Hm.' } });
    expect((await messagesOf(session_id))[1]).toMatchObject({ content: 'Yes.', reasoning: 'Hm.' });
    await ask({ ...question, session_id });
    expect(sentTo(chat.gateway, 2).at(-2)).toEqual({ role: 'assistant', content: 'Yes.' });
  });

  it('may come apart from the answer', async () => {
    chat.gateway.routes.set('/chat/completions', (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      const deltas = [{ reasoning: 'Hm' }, { reasoning_content: '.' }, { content: 'Yes.' }];
      const choices = deltas.map((delta) => [{ delta }]);
      const events = [...choices, [{ delta: {}, finish_reason: 'stop' }]];
      response.end(events.map((it) => `data: ${JSON.stringify({ choices: it })}\n\n`).join(''));
    });
    const answer = await chat.server.post('/chat', question);
    expect(await answer.json()).toMatchObject({ data: { answer: 'Yes.', reasoning: 'Hm.' } });
  });

  it('is separated from the answers that older versions stored', async () => {
    const session_id = randomUUID();
    const { db } = chat.database;
    await sql(db, `INSERT INTO chat_sessions (id, username) VALUES ($1, 'ada')`, [session_id]);
    await sql(
      db,
      `INSERT INTO chat_messages (session_id, username, role, content, request_id, status)
       VALUES ($1, 'ada', 'user', 'What is <think>?', 'r', NULL),
         ($1, 'ada', 'assistant', '<think>Hm.</think>A tag.', 'r', 'completed')`,
      [session_id],
    );
    expect(await messagesOf(session_id)).toMatchObject([
      { content: 'What is <think>?', reasoning: '' },
      { content: 'A tag.', reasoning: 'Hm.', finish_reason: null },
    ]);
    scriptChat(chat.gateway, { text: ['Yes.'] });
    await ask({ ...question, session_id });
    expect(sentTo(chat.gateway, 0).slice(1, -1)).toEqual([
      { role: 'user', content: 'What is <think>?' },
      { role: 'assistant', content: 'A tag.' },
    ]);
  });

  it('may begin without saying so, and is taken back from the answer', async () => {
    const session_id = randomUUID();
    const calls = [{ id: 'c1', name: 'list_backup_runs' }];
    scriptChat(
      chat.gateway,
      { text: ['I look.'], calls },
      { text: ['Hm', '.\n</thi', 'nk>\n\nYes.'] },
    );
    const events = await ask({ ...question, session_id });
    expect(events.slice(-4)).toMatchObject([
      { type: 'token', text: '.\n' },
      { type: 'reasoning', text: '\n\nHm.\n', replaces_text: true },
      { type: 'token', text: '\n\nYes.' },
      { type: 'done', answer: 'I look.\n\nYes.' },
    ]);
    expect((await messagesOf(session_id))[1]).toMatchObject({ content: 'I look.\n\nYes.' });
  });

  it('alone is no answer', async () => {
    scriptChat(chat.gateway, { text: ['<think>Hm.</think>\n'] });
    expect((await ask()).at(-2)).toMatchObject({
      type: 'error',
      message: 'the model gave no answer',
    });
  });
});

it('a comment is sent every 15 seconds while the model thinks', async () => {
  const gate = Promise.withResolvers<void>();
  scriptChat(chat.gateway, { text: ['Well'], gate: gate.promise });
  const asked = await askStream(chat.server, question);
  await asked.until('token');
  // The deadline, the gateway's time-out and the comments.
  await untilAsleep(chat.server.deps, 3);
  chat.server.deps.clock.advance(15_000);
  await expect.poll(() => asked.comments).toEqual([': ping']);
  gate.resolve();
  expect((await asked.ended).at(-1)).toMatchObject({ type: 'done', answer: 'Well' });
});

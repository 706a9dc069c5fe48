import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { askStream, readMessages, scriptChat, sentTo } from '../../support/chat.ts';
import { setUpChat } from '../../support/chat-world.ts';
import { insertLog, insertRun, sql } from '../../support/records.ts';

// The events of POST /chat/stream, frame by frame, and the stored turn.

const chat = setUpChat();

const messages = () => readMessages(chat.database.db);
const sentMessages = (request = 0) => sentTo(chat.gateway, request);

describe('a plain answer', () => {
  it('consists of info, agent_reasoning, tokens and done', async () => {
    scriptChat(chat.gateway, { text: ['All ', 'is ', 'well.'] });
    const session_id = randomUUID();
    const { response, ended } = await askStream(chat.server, {
      session_id,
      question: 'Is all well?',
    });
    const request_id = response.headers.get('x-request-id');
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(await ended).toEqual([
      { type: 'info', request_id, session_id, sources: [] },
      { type: 'agent_reasoning', iteration: 1, request_id },
      { type: 'token', text: 'All ' },
      { type: 'token', text: 'is ' },
      { type: 'token', text: 'well.' },
      { type: 'done', answer: 'All is well.', request_id, finish_reason: 'stop' },
    ]);
    expect(await messages()).toEqual([
      { role: 'user', content: 'Is all well?', status: null, tool_calls: [], request_id },
      {
        role: 'assistant',
        content: 'All is well.',
        status: 'completed',
        tool_calls: [],
        request_id,
      },
    ]);
  });

  it('belongs to no session if none is given', async () => {
    scriptChat(chat.gateway, { text: ['Yes.'] });
    const { ended } = await askStream(chat.server, { question: 'Well?' });
    expect((await ended)[0]).toMatchObject({ type: 'info', session_id: null });
    expect(await messages()).toHaveLength(2);
    expect(await sql(chat.database.db, 'SELECT FROM chat_sessions')).toHaveLength(0);
  });

  it('lists the found records, which the model gets fenced and without secrets', async () => {
    const token = `ghp_${'a1B2'.repeat(9)}`;
    const id = await insertLog(chat.database.db, {
      level: 'error',
      message: `zeppelin push refused for ${token}`,
      repository: 'acme/api',
    });
    scriptChat(chat.gateway, { text: ['It was refused.'] });
    const { ended } = await askStream(chat.server, { question: 'zeppelin' });
    const [info] = await ended;
    expect(info).toMatchObject({
      type: 'info',
      sources: [
        {
          source_type: 'execution_log',
          source_id: String(id),
          title: `Log ${id} of acme/api`,
          snippet: expect.stringContaining('zeppelin push refused'),
          score: expect.any(Number),
          metadata: { repository: 'acme/api' },
        },
      ],
    });
    const question = sentMessages().at(-1)?.content ?? '';
    expect(question).toMatch(/<untrusted-(\w+)>\n.*zeppelin push refused.*\n<\/untrusted-\1>/s);
    expect(JSON.stringify([info, question])).not.toContain(token);
    expect(sentMessages()[0]).toMatchObject({ role: 'system' });
    expect(sentMessages()[0]?.content).toContain('untrusted-');
    expect(sentMessages()[0]?.content).toContain('ids of runs and logs');
  });
});

describe('a turn with tools', () => {
  it('runs two in one iteration, in order, with one id for all events of a call', async () => {
    const run = await insertRun(chat.database.db, { status: 'completed' });
    scriptChat(
      chat.gateway,
      {
        text: ['Let me look.'],
        calls: [
          { id: 'call_a', name: 'get_backup_run_details', args: { run_id: run } },
          { name: 'list_backup_runs' },
        ],
      },
      { text: ['Done.'] },
    );
    const { ended } = await askStream(chat.server, { question: 'How was the run?' });
    const events = await ended;
    expect(events.map(({ type }) => type)).toEqual([
      'info',
      'agent_reasoning',
      'token',
      'tool_start',
      'tool_end',
      'tool_start',
      'tool_end',
      'agent_reasoning',
      'token',
      'done',
    ]);
    const [firstStart, firstEnd, secondStart, secondEnd] = events.slice(3, 7);
    const name = 'get_backup_run_details';
    expect(firstStart).toEqual({
      type: 'tool_start',
      name,
      args: { run_id: run },
      tool_call_id: 'call_a',
    });
    expect(firstEnd).toEqual({
      type: 'tool_end',
      name,
      tool_call_id: 'call_a',
      success: true,
      duration_ms: 0,
      result: expect.stringContaining(`"id":${run}`),
    });
    const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    const generated = secondStart?.type === 'tool_start' ? secondStart.tool_call_id : '';
    expect(generated).toMatch(uuid);
    expect(secondEnd).toMatchObject({ tool_call_id: generated, success: true });
    expect(events.at(-1)).toMatchObject({ answer: 'Let me look.\n\nDone.' });
    expect(events[7]).toMatchObject({ iteration: 2 });

    const [, stored] = await messages();
    expect(stored).toMatchObject({ content: 'Let me look.\n\nDone.', status: 'completed' });
    expect(stored?.tool_calls).toEqual([
      {
        tool_call_id: 'call_a',
        name,
        args: { run_id: run },
        success: true,
        duration_ms: 0,
        result: expect.stringContaining(`"id":${run}`),
      },
      expect.objectContaining({ tool_call_id: generated, name: 'list_backup_runs' }),
    ]);
    // The model got the results with the same ids.
    expect(sentMessages(1).slice(-3)).toMatchObject([
      { role: 'assistant', tool_calls: [{ id: 'call_a' }, { id: generated }] },
      { role: 'tool', tool_call_id: 'call_a', content: expect.stringMatching(/^<untrusted-/) },
      { role: 'tool', tool_call_id: generated },
    ]);
  });

  it.each([
    ['that fails', 'get_backup_run_details', { run_id: 999 }, /does not exist|not found/],
    ['with invalid arguments', 'get_backup_run_details', { run_id: 'x' }, /run_id/],
    ['that does not exist', 'drop_tables', {}, /there is no tool drop_tables/],
    ['that only MCP offers', 'trigger_backup_run', {}, /there is no tool trigger_backup_run/],
  ])(
    'returns the error of a tool %s, and the model continues',
    async (_case, name, args, error) => {
      scriptChat(chat.gateway, { calls: [{ id: 'c1', name, args }] }, { text: ['So be it.'] });
      const { ended } = await askStream(chat.server, { question: 'Try.' });
      const events = await ended;
      const end = events.find(({ type }) => type === 'tool_end');
      expect(end).toMatchObject({ name, success: false, error: expect.stringMatching(error) });
      expect(end).not.toHaveProperty('result');
      expect(events.at(-1)).toMatchObject({ type: 'done', answer: 'So be it.' });
      expect((await messages())[1]).toMatchObject({
        status: 'completed',
        tool_calls: [{ tool_call_id: 'c1', success: false }],
      });
      expect(await sql(chat.database.db, 'SELECT FROM backup_run_requests')).toHaveLength(0);
    },
  );

  it.each<[string, string[], string[], string]>([
    [
      'a blank line',
      ['I ask ', 'first.'],
      ['## Summary', ' of it'],
      'I ask first.\n\n## Summary of it',
    ],
    ['what is missing of one', ['I ask first.\n'], ['## Summary'], 'I ask first.\n\n## Summary'],
    ['nothing more behind one', ['I ask first.\n\n'], ['## Summary'], 'I ask first.\n\n## Summary'],
    [
      'one line, not two',
      ['I ask first.'],
      ['\n', '\n', '## Summary'],
      'I ask first.\n\n## Summary',
    ],
    ['no line when nothing was said', [], ['## Summary'], '## Summary'],
    ['no line when only space was', [' \n'], ['## Summary'], ' \n## Summary'],
  ])('puts %s between the texts of two iterations', async (_case, first, second, answer) => {
    const calls = [{ id: 'c1', name: 'list_backup_runs' }];
    scriptChat(chat.gateway, { text: first, calls }, { text: second }, { text: ['Yes.'] });
    const session_id = randomUUID();
    const { ended } = await askStream(chat.server, { session_id, question: 'How is it?' });
    const events = await ended;
    const tokens = events.flatMap((event) => (event.type === 'token' ? event.text : []));
    expect(tokens.join('')).toBe(answer);
    expect(events.at(-1)).toMatchObject({ type: 'done', answer });
    expect((await messages())[1]).toMatchObject({ content: answer });
    // The model sees the same text in the history.
    await (await askStream(chat.server, { session_id, question: 'Really?' })).ended;
    expect(sentMessages(2).at(-2)).toEqual({ role: 'assistant', content: answer });
  });

  it('appends an error to the text of all iterations', async () => {
    const calls = [{ id: 'c1', name: 'list_backup_runs' }];
    const error = { code: 500, message: 'inner' };
    scriptChat(chat.gateway, { text: ['I look.'], calls }, { text: ['It is'], error });
    const events = await (await askStream(chat.server, { question: 'How is it?' })).ended;
    const [failed, done] = events.slice(-2);
    const message = failed && 'message' in failed ? failed.message : '';
    expect(message).not.toBe('');
    expect(done).toMatchObject({ type: 'done', answer: `I look.\n\nIt is\n\n${message}` });
    expect((await messages())[1]).toMatchObject({ status: 'failed', content: 'I look.\n\nIt is' });
  });

  it('cuts the texts of a long result, which stays JSON, and removes secrets', async () => {
    const token = `ghp_${'a1B2'.repeat(9)}`;
    for (let n = 0; n < 20; n += 1) {
      await insertLog(chat.database.db, { message: `${token} ${'x'.repeat(3_000)}` });
    }
    const calls = [{ id: 'c1', name: 'get_execution_logs', args: { limit: 20 } }];
    scriptChat(chat.gateway, { calls }, { text: ['Much.'] });
    const { ended } = await askStream(chat.server, { question: 'Show logs.' });
    const end = (await ended).find((event) => event.type === 'tool_end');
    const { result = '' } = end ?? {};
    expect(result).toMatch(/\[cut: \d+ more characters\]/);
    expect(result.length).toBeLessThanOrEqual(16_000);
    expect(JSON.parse(result).logs).toHaveLength(20);
    expect(JSON.stringify([await ended, sentMessages(1), await messages()])).not.toContain(token);
  });
});

describe('the history', () => {
  it('has the latest messages of the session, with role and content only, and not the question', async () => {
    const session_id = randomUUID();
    scriptChat(chat.gateway, { text: ['One.'] }, { text: ['Two.'] });
    await (await askStream(chat.server, { session_id, question: 'First?' })).ended;
    await (await askStream(chat.server, { session_id, question: 'Second?' })).ended;
    expect(sentMessages(1).slice(1)).toEqual([
      { role: 'user', content: 'First?' },
      { role: 'assistant', content: 'One.' },
      { role: 'user', content: expect.stringMatching(/^Second\?/) },
    ]);
  });

  it('has at most AGENT_HISTORY_MAX_MESSAGES messages', async () => {
    const session_id = randomUUID();
    await sql(chat.database.db, `INSERT INTO chat_sessions (id, username) VALUES ($1, 'ada')`, [
      session_id,
    ]);
    await sql(
      chat.database.db,
      `INSERT INTO chat_messages (session_id, username, role, content, request_id)
       SELECT $1, 'ada', 'user', 'message ' || n, 'r' FROM generate_series(1, 30) AS n`,
      [session_id],
    );
    scriptChat(chat.gateway, { text: ['Ok.'] });
    await (await askStream(chat.server, { session_id, question: 'Last?' })).ended;
    const history = sentMessages().slice(1, -1);
    expect(history).toHaveLength(20);
    expect(history[0]).toEqual({ role: 'user', content: 'message 11' });
    expect(history[19]).toEqual({ role: 'user', content: 'message 30' });
  });
});

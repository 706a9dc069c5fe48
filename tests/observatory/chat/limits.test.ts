import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import {
  askStream,
  readMessages,
  type ScriptedCall,
  scriptChat,
  sentTo,
} from '../../support/chat.ts';
import { setUpChat } from '../../support/chat-world.ts';

// Limits for a misbehaving model: invalid calls and answers without end.

const chat = setUpChat();

const PATH = '/chat/completions';
const ask = async () => (await askStream(chat.server, { question: 'Is all well?' })).ended;
const stored = async () => (await readMessages(chat.database.db))[1];

describe('a tool call', () => {
  const listRuns = (args: unknown): ScriptedCall => ({ id: 'c1', name: 'list_backup_runs', args });

  it.each([
    ['text that is not JSON', '{"limit": 3'],
    ['a list', [3]],
    ['a text', '"3"'],
    ['more than any tool takes', { limit: 3, padding: 'x'.repeat(300_000) }],
  ])('does not run with %s as arguments, and the model is told', async (_case, args) => {
    scriptChat(chat.gateway, { calls: [listRuns(args)] }, { text: ['So be it.'] });
    const events = await ask();
    const error = expect.stringMatching(/^invalid arguments: /);
    const of = { name: 'list_backup_runs', tool_call_id: 'c1' };
    expect(events.slice(2, 4)).toEqual([
      { type: 'tool_start', args: {}, ...of },
      { type: 'tool_end', ...of, success: false, duration_ms: 0, error },
    ]);
    expect(chat.db.statements).not.toContain('runs_page');
    expect(sentTo(chat.gateway, 1).at(-1)).toMatchObject({
      tool_call_id: 'c1',
      content: expect.stringContaining('invalid arguments'),
    });
    expect(await stored()).toMatchObject({
      status: 'completed',
      tool_calls: [{ args: {}, success: false, error }],
    });
  });

  it('runs without arguments', async () => {
    scriptChat(chat.gateway, { calls: [listRuns('null')] }, { text: ['None.'] });
    expect((await ask())[3]).toMatchObject({ type: 'tool_end', success: true });
    expect(chat.db.statements).toContain('runs_page');
    expect(chat.db.statements).toContain('runs_page');
  });

  it('gets a UUID for all its events if it has the id of another call', async () => {
    const calls = [
      { id: 'same', name: 'list_backup_runs' },
      { id: 'same', name: 'get_dashboard_summary' },
    ];
    scriptChat(chat.gateway, { calls }, { text: ['Done.'] });
    const events = await ask();
    const ids = events.flatMap((event) => ('tool_call_id' in event ? event.tool_call_id : []));
    const uuid = expect.stringMatching(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
    expect(ids).toEqual(['same', 'same', uuid, uuid]);
    expect(ids[3]).toBe(ids[2]);
    expect(await stored()).toMatchObject({
      tool_calls: [
        { tool_call_id: 'same', name: 'list_backup_runs' },
        { tool_call_id: ids[2], name: 'get_dashboard_summary' },
      ],
    });
  });

  it('is ignored after the first 12 of an answer', async () => {
    const calls = Array.from({ length: 14 }, (_, n) => ({ id: `c${n}`, name: 'nothing' }));
    scriptChat(chat.gateway, { calls }, { text: ['Done.'] });
    const events = await ask();
    expect(events.filter(({ type }) => type === 'tool_end')).toHaveLength(12);
    expect(sentTo(chat.gateway, 1).filter(({ role }) => role === 'tool')).toHaveLength(12);
  });
});

describe('a turn', () => {
  it('ends after 12 requests to a model that only calls tools', async () => {
    const calls = [{ id: 'c1', name: 'nothing' }];
    scriptChat(chat.gateway, ...Array.from({ length: 13 }, () => ({ calls })));
    expect((await ask()).slice(-2)).toMatchObject([
      { type: 'error', code: 'GATEWAY_ERROR' },
      { type: 'done' },
    ]);
    const requests = chat.gateway.requestsTo(PATH);
    const last = requests.at(-1)?.body;
    expect([requests.length, requests[10]?.body?.tool_choice, last?.tool_choice]).toEqual([
      12,
      'auto',
      'none',
    ]);
    const turn = await stored();
    expect(turn).toMatchObject({ status: 'failed' });
    expect(turn?.tool_calls).toHaveLength(11);
  });

  /** Lets the gateway send one kind of event endlessly; resolves when its client has disconnected. */
  function pourForever(delta: object): Promise<void> {
    const gone = Promise.withResolvers<void>();
    const event = `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`;
    const pour = (response: ServerResponse) => {
      while (!response.destroyed) if (!response.write(event)) return;
    };
    chat.gateway.routes.set(PATH, (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.on('drain', () => pour(response));
      response.on('close', () => gone.resolve());
      pour(response);
    });
    return gone.promise;
  }

  const words = 'word '.repeat(2_000);

  it('ends after a million characters of text', async () => {
    const gone = pourForever({ content: words });
    expect((await ask()).slice(-2)).toMatchObject([
      { type: 'error', code: 'GATEWAY_ERROR', message: "the model's answer is too long" },
      { type: 'done' },
    ]);
    await gone;
    expect(await stored()).toMatchObject({ status: 'failed', content: words.repeat(100) });
  });

  it('ends endless reasoning', async () => {
    const gone = pourForever({ reasoning_content: words });
    expect((await ask()).slice(-2)).toMatchObject([
      { type: 'error', code: 'GATEWAY_ERROR' },
      { type: 'done' },
    ]);
    await gone;
    expect(await stored()).toMatchObject({ status: 'failed', content: '' });
  });

  it('closes the connection of a gateway that sends garbage', async () => {
    const gone = Promise.withResolvers<void>();
    chat.gateway.routes.set(PATH, (_request, response) => {
      response.on('close', () => gone.resolve());
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write('data: {"choices":[{"delta":{"content":{"no":"text"}}}]}\n\n');
    });
    expect((await ask()).at(-2)).toMatchObject({ type: 'error', code: 'GATEWAY_ERROR' });
    await gone.promise;
  });
});

import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { askStream, emptyChat, readMessages, scriptChat, waitFor } from '../support/chat.ts';
import { createTestClock } from '../support/clock.ts';
import { ADA, signToken } from '../support/observatory-client.ts';
import { hasRedisServer } from '../support/redis-server.ts';
import { type ScriptedServer, startScriptedServer } from '../support/scripted-server.ts';
import { startWorkerd, type Workerd } from '../support/workerd.ts';

// The chat in workerd: its stream, confirmations through Redis, and clients that disconnect.

let mail: ScriptedServer;
let workerd: Workerd;
beforeAll(async () => {
  if (!hasRedisServer) return;
  mail = await startScriptedServer(() => ({ body: { id: randomUUID() } }));
  workerd = await startWorkerd({
    GATEWAY_API_KEYS: 'server-key-number-1',
    GATEWAY_MODEL: 'acme/chat-paid',
    HITL_POLL_INTERVAL_SECONDS: '0.1',
    RESEND_API_KEY: 're_key_of_the_tests_0001',
    RESEND_BASE_URL: mail.url,
    SMTP_FROM: 'backups@example.com',
    SMTP_TO: 'ops@example.com',
  });
});
afterAll(async () => {
  await workerd?.close();
  await mail?.close();
});
beforeEach(async () => {
  if (hasRedisServer) await emptyChat(workerd.database.db);
  workerd?.gateway.requests.splice(0);
  mail?.received.splice(0);
});

const client = {
  async post(path: string, json: unknown) {
    return fetch(`${workerd.url}${path}`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${await signToken({ clock: createTestClock(Date.now()) }, ADA.username)}`,
        'Content-Type': 'application/json',
      },
      body: JSON.stringify(json),
    });
  },
};
const typesOf = (events: { type: string }[]) => events.map(({ type }) => type);
const call = {
  id: 'call_mail',
  name: 'send_report_email',
  args: { subject: 'The week', recipients: ['ops@example.com'], content_markdown: '# All is well' },
};

describe.skipIf(!hasRedisServer)('the chat in workerd', () => {
  it('streams an answer while the model is still writing it', async () => {
    const { promise: more, resolve: sayMore } = Promise.withResolvers<void>();
    scriptChat(workerd.gateway, { text: ['All ', 'is well.'], gate: more });
    const reader = await askStream(client, { question: 'How are the backups?' });
    expect(await reader.until('token')).toEqual({ type: 'token', text: expect.any(String) });
    sayMore();
    const events = await reader.ended;
    expect(events.at(0)?.type).toBe('info');
    expect(events.at(-1)).toMatchObject({ type: 'done', answer: 'All is well.' });
    const stored = await readMessages(workerd.database.db);
    expect(stored.map(({ role, status }) => [role, status])).toEqual([
      ['user', null],
      ['assistant', 'completed'],
    ]);
  });

  it.each([
    [true, 'approved', 1],
    [false, 'rejected', 0],
  ])('asks for approval before it mails: approve %j is %s', async (approve, status, mails) => {
    scriptChat(workerd.gateway, { calls: [call] }, { text: ['As you say.'] });
    const reader = await askStream(client, { question: 'Mail the week.' });
    const { confirm_id } = await reader.until('confirm_required');
    expect(mail.received).toHaveLength(0);
    const decided = await client.post('/chat/confirm', { confirm_id, approve });
    expect(await decided.json()).toMatchObject({ data: { confirm_id, status } });
    const events = await reader.ended;
    expect(typesOf(events).includes('tool_start')).toBe(approve);
    expect(events.at(-1)).toMatchObject({ type: 'done', answer: 'As you say.' });
    expect(mail.received).toHaveLength(mails);
    const again = await client.post('/chat/confirm', { confirm_id, approve });
    expect(again.status).toBe(409);
  });

  // The runtime notices that a client is gone only when it writes to it.
  it('stores a partial answer as failed when the client disconnects', async () => {
    const said: ServerResponse[] = [];
    workerd.gateway.routes.set('/chat/completions', (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      said.push(response);
      say('The first words');
    });
    const say = (content: string) =>
      said[0]?.write(
        `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content } }] })}\n\n`,
      );
    const reader = await askStream(client, { question: 'How are the backups?' });
    await reader.until('token');
    await reader.leave();
    const stored = await waitFor(async () => {
      say(' and more');
      const [, answer] = await readMessages(workerd.database.db);
      return answer ?? null;
    }, 'the answer');
    said[0]?.end();
    expect(stored).toMatchObject({ role: 'assistant', status: 'failed' });
    expect(stored.content).toContain('The first words');
  });
});

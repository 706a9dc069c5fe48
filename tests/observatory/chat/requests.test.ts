import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createArchiveFolder } from '../../support/archives.ts';
import {
  chatEnvironment,
  emptyChat,
  readMessages,
  scriptChat,
  sentTo,
} from '../../support/chat.ts';
import { TEST_SECRET } from '../../support/deps.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { useDatabase } from '../../support/hooks.ts';
import { ADDRESSES, startMailService } from '../../support/mail.ts';
import { createObservatoryClient } from '../../support/observatory-client.ts';
import { empty, insertLog, insertRun, sql } from '../../support/records.ts';

// POST and GET /chat, what /chat/stream rejects before its first event, and /api/tools/execute.

const database = useDatabase();
let gateway: Gateway;

beforeEach(async () => {
  await empty(database.db);
  await emptyChat(database.db);
  gateway = await startGateway();
});
afterEach(() => gateway.close());

const client = (environment: Record<string, string | undefined> = {}) =>
  createObservatoryClient({
    db: database.db,
    environment: { ...chatEnvironment(gateway), ...environment },
  });
const question = 'How was the run?';

describe('POST /chat', () => {
  it('returns the turn as it is stored', async () => {
    const run = await insertRun(database.db, { status: 'completed' });
    const args = { run_id: run };
    scriptChat(
      gateway,
      { text: ['I look.'], calls: [{ id: 'c1', name: 'get_backup_run_details', args }] },
      { text: [`Run ${run} is completed.`] },
    );
    const session_id = randomUUID();
    const { status, body, headers } = await client().post('/chat', { session_id, question });
    expect(status).toBe(200);
    const tool_calls = [
      {
        tool_call_id: 'c1',
        name: 'get_backup_run_details',
        args,
        success: true,
        duration_ms: 0,
        result: expect.stringContaining('"status":"completed"'),
      },
    ];
    expect(body.data).toEqual({
      request_id: headers.get('x-request-id'),
      session_id,
      question,
      answer: `I look.\n\nRun ${run} is completed.`,
      reasoning: '',
      status: 'completed',
      finish_reason: 'stop',
      model: 'acme/chat-paid',
      tool_calls,
      sources: [],
    });
    expect((await readMessages(database.db))[1]).toMatchObject({
      content: body.data.answer,
      status: 'completed',
      tool_calls,
    });
  });

  it('never mails; the model is told to point the user to the streaming chat', async () => {
    const mail = await startMailService();
    const args = { subject: 's', recipients: [ADDRESSES[0]], content_markdown: 'c' };
    scriptChat(
      gateway,
      { calls: [{ id: 'c1', name: 'send_report_email', args }] },
      { text: ['Use the streaming chat.'] },
    );
    const { body } = await client(mail.environment).post('/chat', { question: 'Mail it.' });
    await mail.close();
    expect(mail.requests).toEqual([]);
    expect(body.data.tool_calls).toMatchObject([
      { success: false, error: expect.stringContaining('/chat/stream') },
    ]);
    expect(sentTo(gateway, 0)[0]?.content).toContain('/chat/stream');
    expect(sentTo(gateway, 1).at(-1)?.content).toContain('/chat/stream');
    expect((await readMessages(database.db))[1]).toMatchObject({
      status: 'completed',
      tool_calls: body.data.tool_calls,
    });
  });

  it.each([
    [400, 502, 'GATEWAY_BAD_REQUEST'],
    [401, 502, 'GATEWAY_ERROR'],
    [402, 402, 'GATEWAY_OUT_OF_CREDITS'],
    [429, 429, 'GATEWAY_RATE_LIMITED'],
    [500, 502, 'GATEWAY_UNAVAILABLE'],
  ])(
    'answers a %i from the gateway with %i %s, and stores the turn',
    async (refusal, status, code) => {
      gateway.next.set('/chat/completions', [{ status: refusal }, { status: refusal }]);
      const answer = await client().post('/chat', { question });
      expect([answer.status, answer.body.error.code]).toEqual([status, code]);
      expect(await readMessages(database.db)).toMatchObject([{}, { status: 'failed' }]);
    },
  );

  it.each([
    [401, 403, 'GATEWAY_KEY_INVALID'],
    [402, 402, 'GATEWAY_OUT_OF_CREDITS'],
    [429, 429, 'GATEWAY_RATE_LIMITED'],
  ])(
    "answers a %i for a user's own key with %i %s, and tries no other key",
    async (refusal, status, code) => {
      const ada = client();
      await ada.post('/me/gateway/exchange', { code: 'c', code_verifier: 'v'.repeat(43) });
      gateway.refusedKeys.set(gateway.issuedKey, refusal);
      const answer = await ada.post('/chat', { question });
      expect([answer.status, answer.body.error.code]).toEqual([status, code]);
      const asked = gateway.requestsTo('/chat/completions');
      expect(asked.map(({ key }) => key)).toEqual([gateway.issuedKey]);
      expect(await readMessages(database.db)).toMatchObject([{}, { status: 'failed' }]);
    },
  );

  it('fails over between the keys of the server', async () => {
    gateway.refusedKeys.set('server-key-number-1', 429);
    scriptChat(gateway, { text: ['Yes.'] });
    const { body } = await client().post('/chat', { question });
    expect(body.data.answer).toBe('Yes.');
  });
});

describe('GET /chat', () => {
  it('accepts the same fields in the query', async () => {
    scriptChat(gateway, { text: ['Yes.'] });
    const session = randomUUID();
    const query = new URLSearchParams({ question, session_id: session, model: 'acme/chat-free' });
    const { status, body } = await client().get(`/chat?${query}`);
    expect(status).toBe(200);
    expect(body.data).toMatchObject({
      answer: 'Yes.',
      session_id: session,
      model: 'acme/chat-free',
    });
  });

  it('asks no model for a HEAD request', async () => {
    const query = new URLSearchParams({ question });
    expect((await client().send('HEAD', `/chat?${query}`)).status).toBe(200);
    expect(gateway.requestsTo('/chat/completions')).toEqual([]);
    expect(await readMessages(database.db)).toEqual([]);
  });

  it.each([
    ['a malformed session_id', '?question=a&session_id=x', 422],
    ['no question', '', 400],
  ])('rejects %s', async (_case, query, status) => {
    expect((await client().get(`/chat${query}`)).status).toBe(status);
  });
});

describe.each(['/chat', '/chat/stream'])('POST %s', (path) => {
  it.each([
    ['a malformed session_id', { question, session_id: 'x' }, 422, 'VALIDATION_ERROR'],
    ['no question', {}, 400, 'VALIDATION_ERROR'],
    ['a blank question', { question: ' ' }, 400, 'VALIDATION_ERROR'],
    ['a model that costs', { question, model: 'acme/embed-paid' }, 400, 'MODEL_NOT_ALLOWED'],
  ])('rejects %s and stores nothing', async (_case, body, status, code) => {
    const answer = await client().post(path, body);
    expect([answer.status, answer.body.error.code]).toEqual([status, code]);
    expect(await readMessages(database.db)).toEqual([]);
  });

  it("answers 404 to another user's session, and does not change it", async () => {
    const id = randomUUID();
    await sql(database.db, `INSERT INTO chat_sessions (id, username) VALUES ($1, 'grace')`, [id]);
    const answer = await client().post(path, { question, session_id: id });
    expect(answer.status).toBe(404);
    expect(await readMessages(database.db)).toEqual([]);
    expect(gateway.requestsTo('/chat/completions')).toEqual([]);
  });

  it.each([
    ['a key', { GATEWAY_API_KEYS: '' }],
    ['a model', { GATEWAY_MODEL: undefined }],
  ])('answers 503 GATEWAY_NOT_CONFIGURED without %s', async (_case, environment) => {
    const answer = await client(environment).post(path, { question });
    expect([answer.status, answer.body.error.code]).toEqual([503, 'GATEWAY_NOT_CONFIGURED']);
  });

  it('answers 503 when the models cannot be listed', async () => {
    gateway.always = { status: 500 };
    const answer = await client().post(path, { question, model: 'acme/chat-free' });
    expect([answer.status, answer.body.error.code]).toEqual([503, 'MODEL_REGISTRY_UNAVAILABLE']);
  });
});

describe('POST /api/tools/execute', () => {
  const execute = (name: string, args?: object) =>
    client().post('/api/tools/execute', { name, ...(args ? { args } : {}) });

  it('runs a tool that reads, and removes secrets from its answer', async () => {
    const token = `ghp_${'a1B2'.repeat(9)}`;
    await insertLog(database.db, { message: `refused for ${token}` });
    const { status, body, text } = await execute('get_execution_logs', { limit: 5 });
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ name: 'get_execution_logs', success: true, duration_ms: 0 });
    expect(body.data.result.logs).toHaveLength(1);
    expect(text).not.toContain(token);
  });

  it('removes the configured secrets from a binary file before it is encoded as base64', async () => {
    const archives = await createArchiveFolder();
    try {
      const repository = await archives.repository('widgets');
      await repository.commit({ 'secret.bin': `\0${TEST_SECRET}\0` });
      await archives.bundle('acme__widgets.bundle', repository);
      const { body } = await client({
        BACKUP_ARCHIVE_PATH: archives.root,
        PATH: process.env.PATH,
      }).post('/api/tools/execute', {
        name: 'extract_backup_file',
        args: { repo_name: 'acme/widgets', file_path: 'secret.bin' },
      });
      const content = Buffer.from(body.data.result.content, 'base64').toString();
      expect(content).toBe('\0[redacted]\0');
    } finally {
      await archives.remove();
    }
  });

  it('answers 200 with the error of a tool that fails', async () => {
    const { status, body } = await execute('get_backup_run_details', { run_id: 999 });
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ success: false, error: expect.any(String) });
    expect(body.data).not.toHaveProperty('result');
  });

  it.each([
    ['send_report_email', /ask for it in the streaming chat/],
    ['trigger_backup_run', /call it over MCP .* the chat does not offer it$/],
    ['record_backup_fix', /call it over MCP .* the chat does not offer it$/],
    ['send_backup_report', /call it over MCP .* the chat does not offer it$/],
  ])(
    'refuses %s with 403, because a person has to allow it, and says where',
    async (name, where) => {
      const { status, body } = await execute(name);
      expect([status, body.error.code]).toEqual([403, 'CONFIRMATION_REQUIRED']);
      expect(body.error.message).toMatch(where);
    },
  );

  it('answers 404 to an unknown tool', async () => {
    expect((await execute('drop_tables')).status).toBe(404);
  });

  it('asks the service API of the same deployment for its health', async () => {
    const { body } = await createObservatoryClient({
      db: database.db,
      askServiceApi: async () => new Response('ok'),
    }).post('/api/tools/execute', { name: 'get_system_health' });
    expect(body.data.result.backend_api).toMatchObject({ status: 'ok' });
  });
});

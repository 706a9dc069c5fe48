import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askStream, chatEnvironment, readMessages, scriptChat } from '../support/chat.ts';
import { createPostgres, type TestDatabase } from '../support/databases.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { mailCall } from '../support/mail-chat.ts';
import { ADA, observatoryEnvironment } from '../support/observatory-client.ts';
import { hasRedisServer } from '../support/redis-server.ts';
import { startUpstashRest, type UpstashRest } from '../support/upstash-rest.ts';

// The function api/observatory.ts in its own process, which the platform ends with SIGTERM.

let database: TestDatabase;
let gateway: Gateway;
let redis: UpstashRest | null = null;
let child: ChildProcess;
let ended: Promise<unknown[]>;
let url: string;

beforeAll(async () => {
  [database, gateway] = await Promise.all([createPostgres(), startGateway()]);
  if (hasRedisServer) redis = await startUpstashRest();
  child = spawn(
    process.execPath,
    [
      resolve(import.meta.dirname, '../support/function-process.ts'),
      resolve(import.meta.dirname, '../../api/observatory.ts'),
    ],
    {
      env: {
        ...observatoryEnvironment,
        ...chatEnvironment(gateway),
        ...redis?.environment,
        RESEND_API_KEY: 're_key_of_the_tests_0001',
        SMTP_FROM: 'backups@example.com',
        SMTP_TO: 'ops@example.com',
        DATABASE_URL: database.url,
        LOG_LEVEL: 'error',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  ended = once(child, 'exit');
  if (!child.stdout) throw new Error('the process has no stdout');
  const started = once(createInterface(child.stdout), 'line');
  const [line] = await Promise.race([started, ended]);
  const port = /^port (\d+)$/.exec(String(line))?.[1];
  if (port === undefined) throw new Error(`the process ended: ${line}`);
  url = `http://127.0.0.1:${port}`;
});
afterAll(async () => {
  child?.kill('SIGKILL');
  await ended;
  await Promise.all([database?.close(), gateway?.close(), redis?.close()]);
});

const headers = { 'X-Real-IP': '192.0.2.1' };

async function logIn() {
  const response = await fetch(`${url}/auth/login`, {
    method: 'POST',
    headers,
    body: new URLSearchParams(ADA),
  });
  const { access_token: token } = (await response.json()) as { access_token: string };
  return {
    post: (path: string, json: unknown) =>
      fetch(`${url}/observatory${path}`, {
        method: 'POST',
        headers: {
          ...headers,
          Authorization: `Bearer ${token}`,
          'Content-Type': 'application/json',
        },
        body: JSON.stringify(json),
      }),
  };
}

describe('SIGTERM', () => {
  it('ends running turns, notifies their streams and stores them', async () => {
    const ada = await logIn();
    scriptChat(
      gateway,
      { text: ['Half a thought'], instead: 'hang' },
      { text: ['I mail it.'], calls: [mailCall] },
    );
    const speaking = await askStream(ada, { question: 'Well?' });
    await speaking.until('token');
    const waiting = await askStream(ada, { question: 'Mail it.' });
    const { confirm_id } = await waiting.until('confirm_required');

    child.kill('SIGTERM');
    const end = [
      { type: 'error', code: 'INTERNAL_ERROR', message: 'the service is stopping: ask again' },
      { type: 'done' },
    ];
    expect((await speaking.ended).slice(-2)).toMatchObject(end);
    expect((await waiting.ended).slice(-3)).toMatchObject([
      { type: 'tool_end', success: false },
      ...end,
    ]);
    const answers = (await readMessages(database.db)).filter(({ role }) => role === 'assistant');
    expect(answers).toHaveLength(2);
    expect(answers).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ status: 'failed', content: 'Half a thought', tool_calls: [] }),
        expect.objectContaining({
          status: 'failed',
          content: 'I mail it.',
          tool_calls: [expect.objectContaining({ tool_call_id: 'call_mail', success: false })],
        }),
      ]),
    );
    const key = `backup:confirmation:${confirm_id}`;
    if (redis) expect(await redis.send(['HGET', key, 'state'])).toBe('expired');
  });
});

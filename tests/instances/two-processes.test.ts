import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askStream, chatEnvironment, scriptChat, waitFor } from '../support/chat.ts';
import { createTestClock } from '../support/clock.ts';
import type { TestDatabase } from '../support/databases.ts';
import { TEST_SECRET, withSecret } from '../support/deps.ts';
import { createPostgresWithVectors } from '../support/embeddings.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { emptyFolder, startIn } from '../support/local-start.ts';
import { TEST_TOKEN } from '../support/mcp.ts';
import { ADA, observatoryEnvironment, signToken } from '../support/observatory-client.ts';
import { insertRun, sql } from '../support/records.ts';
import { hasRedisServer } from '../support/redis-server.ts';
import { type ScriptedServer, startScriptedServer } from '../support/scripted-server.ts';
import { startUpstashRest, type UpstashRest } from '../support/upstash-rest.ts';

// Two server processes that share one database and one Redis.

type Server = Awaited<ReturnType<typeof startIn>>;

let database: TestDatabase;
let redis: UpstashRest;
let gateway: Gateway;
let mail: ScriptedServer;
let folder: Awaited<ReturnType<typeof emptyFolder>>;
let servers: [Server, Server];

beforeAll(async () => {
  if (!hasRedisServer) return;
  folder = await emptyFolder();
  database = await createPostgresWithVectors();
  redis = await startUpstashRest();
  gateway = await startGateway();
  mail = await startScriptedServer(() => ({ body: { id: 'mailed' } }));
  const environment = {
    ...observatoryEnvironment,
    ...redis.environment,
    ...chatEnvironment(gateway),
    DATABASE_URL: database.url,
    INTERNAL_SECRET: TEST_SECRET,
    MCP_AUTH_TOKEN: TEST_TOKEN,
    HITL_POLL_INTERVAL_SECONDS: '0.1',
    RESEND_API_KEY: 're_key_of_the_tests_0001',
    RESEND_BASE_URL: mail.url,
    SMTP_FROM: 'backups@example.com',
    SMTP_TO: 'ops@example.com',
    LOG_LEVEL: 'warn',
  } as Record<string, string>;
  // Each has its own folder, because the first would lock it.
  const start = (name: string) =>
    startIn(folder.path, { ...environment, DATA_DIR: `${folder.path}/${name}` });
  servers = await Promise.all([start('first'), start('second')]);
});
afterAll(async () => {
  for (const { child } of servers ?? []) child.kill('SIGTERM');
  const endings = await Promise.all((servers ?? []).map(({ finished }) => finished));
  await mail?.close();
  await gateway?.close();
  await redis?.close();
  await database?.close();
  await folder?.remove();
  expect(endings.map(({ code }) => code)).toEqual((servers ?? []).map(() => 0));
});

async function post(server: Server, path: string, json?: unknown): Promise<Response> {
  const token = await signToken({ clock: createTestClock(Date.now()) }, ADA.username);
  return fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  });
}
const dataOf = async <Data>(response: Promise<Response>) =>
  ((await (await response).json()) as { data: Data }).data;

describe.skipIf(!hasRedisServer)('two server processes', () => {
  it('share the request count of an address', async () => {
    const remaining = async ({ url }: Server) => {
      const { headers } = await fetch(`${url}/api/backups`);
      return Number(headers.get('ratelimit-remaining'));
    };
    // Retried if the minute ends in between.
    await waitFor(async () => {
      const first = await remaining(servers[0]);
      const second = await remaining(servers[1]);
      const third = await remaining(servers[0]);
      return (first - second === 1 && second - third === 1) || null;
    }, 'a common count');
  });

  it('share confirmations: a tool runs in one process after a confirmation in the other', async () => {
    const [first, second] = servers;
    const args = {
      subject: 'The week',
      recipients: ['ops@example.com'],
      content_markdown: '# All is well',
    };
    const call = { id: 'call_mail', name: 'send_report_email', args };
    scriptChat(gateway, { calls: [call] }, { text: ['As you say.'] });
    const question = { question: 'Mail the week.' };
    const reader = await askStream({ post: (path, json) => post(first, path, json) }, question);
    const { confirm_id } = await reader.until('confirm_required');
    const decided = post(second, '/chat/confirm', { confirm_id, approve: true });
    expect(await dataOf(decided)).toEqual({ confirm_id, approved: true, status: 'approved' });
    const events = await reader.ended;
    expect(events.at(-1)).toMatchObject({ type: 'done', answer: 'As you say.' });
    expect(mail.received).toHaveLength(1);
  });

  it('mark a stale run as failed once if both sweep', async () => {
    const ids: number[] = [];
    for (let n = 0; n < 10; n++) {
      const started_at = `2026-01-01T00:00:0${n}Z`;
      ids.push(await insertRun(database.db, { status: 'running', started_at }));
    }
    const sweep = async ({ url }: Server) => {
      const init = { method: 'POST', headers: withSecret };
      const response = await fetch(`${url}/api/cron/sweep-stale-runs`, init);
      return (await response.json()) as { swept: number; run_ids: number[] };
    };
    const [first, second] = await Promise.all(servers.map(sweep));
    const swept = [...(first?.run_ids ?? []), ...(second?.run_ids ?? [])];
    expect(swept.toSorted((a, b) => a - b)).toEqual(ids);
    const states = await sql(database.db, 'SELECT DISTINCT status FROM backup_runs');
    expect(states).toEqual([{ status: 'failed' }]);
  });

  it('share the jobs of a generation if both process batches', async () => {
    const [first, second] = servers;
    await sql(
      database.db,
      "INSERT INTO execution_logs (message) SELECT 'log ' || n FROM generate_series(1, 300) AS n",
    );
    const { generation_id, total_jobs_enqueued: jobs } = await dataOf<{
      generation_id: number;
      total_jobs_enqueued: number;
    }>(post(first, '/embeddings/switch-model', { model_id: 'local/hashing-384' }));
    // One call processes at most 250, so both are needed.
    const request = { generation_id, batch_size: 5, max_batches: 50 };
    const processed = await Promise.all(
      [first, second].map((server) =>
        dataOf<{ processed: number }>(post(server, '/embeddings/process-batch', request)),
      ),
    );
    expect(processed.reduce((sum, one) => sum + one.processed, 0)).toBe(jobs);
    const stored = await sql(
      database.db,
      'SELECT status, attempts, count(*)::int FROM embedding_jobs GROUP BY 1, 2',
    );
    expect(stored).toEqual([{ status: 'completed', attempts: 0, count: jobs }]);
  });
});

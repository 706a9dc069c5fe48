import { afterEach, describe, expect, it } from 'vitest';
import { createRemoteSource } from '../../lib/mcp/remote-source.ts';
import type { ToolHandles } from '../../lib/tools/index.ts';
import { createTestClock } from '../support/clock.ts';
import { silentLog } from '../support/databases.ts';
import { TEST_SECRET } from '../support/deps.ts';
import {
  type ReceivedRequest,
  type ScriptedAnswer,
  type ScriptedServer,
  startScriptedServer,
} from '../support/scripted-server.ts';
import { answerOf, callTool, createTestHandles, faultOf } from '../support/tools.ts';

let server: ScriptedServer;
afterEach(() => server.close());

/** Handles over a service API that answers as the test says. */
async function open(
  answer: (request: ReceivedRequest) => ScriptedAnswer,
  secret: string | undefined = TEST_SECRET,
): Promise<ToolHandles> {
  server = await startScriptedServer(answer);
  const clock = createTestClock();
  const backups = createRemoteSource({ url: server.url, secret, fetch, clock, log: silentLog });
  return createTestHandles({ backups });
}

const run = (id: number, status: string) => ({
  id,
  started_at: '2026-03-01T00:00:00.000000Z',
  completed_at: null,
  status,
  duration_ms: 0,
  total_repos: 0,
  successful: 0,
  failed: 0,
  skipped: 0,
  error_message: '',
});
const log = (id: number, repository: string | null) => ({
  id,
  created_at: '2026-03-01T00:00:00.000000Z',
  level: 'info',
  message: `${id}`,
  repository,
  run_id: null,
});
const pageOf = ({ path }: ReceivedRequest) => Number(/[?&]page=(\d+)/.exec(path)?.[1] ?? 1);
/** A list of many items, served in pages of 500. */
const listOf = (items: readonly unknown[], request: ReceivedRequest) => {
  const page = pageOf(request);
  const pagination = {
    page,
    limit: 500,
    total_items: items.length,
    total_pages: Math.ceil(items.length / 500),
  };
  return { body: { data: items.slice((page - 1) * 500, page * 500), pagination } };
};

describe('every call', () => {
  const reads: [string, object][] = [
    ['get_dashboard_summary', {}],
    ['get_backup_metrics', {}],
    ['list_tracked_repositories', {}],
    ['list_backup_runs', {}],
    ['list_backup_runs', { status: 'failed' }],
    ['get_backup_run_details', { run_id: 1 }],
    ['get_execution_logs', {}],
    ['get_execution_logs', { repository: 'owner/a' }],
    ['diagnose_backup_failure', {}],
    ['diagnose_backup_failure', { run_id: 1 }],
  ];

  it.each(reads)('of %s %j carries the secret, and in a header alone', async (name, given) => {
    const handles = await open(() => ({ status: 500 }));
    await callTool(handles, name, given);
    expect(server.received.length).toBeGreaterThan(0);
    for (const { path, headers } of server.received) {
      expect(headers['x-internal-secret']).toBe(TEST_SECRET);
      expect(path).not.toContain(TEST_SECRET);
    }
  });

  it.each(reads)('of %s %j names the status and message of a refusal', async (name, given) => {
    const message = 'internal error, request id 7';
    const handles = await open(() => ({
      status: 500,
      body: {
        success: false,
        error: { code: 'INTERNAL_ERROR', message, request_id: '7' },
        message,
      },
    }));
    expect(await faultOf(handles, name, given)).toBe(`the service API answered 500: ${message}`);
  });
});

describe('a refusal', () => {
  it.each<[string, ScriptedAnswer, string]>([
    ['plain', { status: 400, body: { error: 'level must be one' } }, '400: level must be one'],
    ['of another shape', { status: 502, body: '<html>' }, '502: Bad Gateway'],
    ['without a body', { status: 401 }, '401: Unauthorized'],
    [
      'with a credential and line breaks',
      { status: 500, body: { error: `a\n\u001b[31mb postgres://me:hunter2@db/x` } },
      '500: a [31mb postgres://[redacted]@db/x',
    ],
    [
      'that is long',
      { status: 500, body: { error: 'x'.repeat(9_000) } },
      `500: ${'x'.repeat(299)}…`,
    ],
    ['that never ends', { status: 500, body: 'x'.repeat(70_000) }, '500: Internal Server Error'],
  ])('%s becomes one short line', async (_name, answer, fault) => {
    const handles = await open(() => answer);
    expect(await faultOf(handles, 'get_dashboard_summary')).toBe(
      `the service API answered ${fault}`,
    );
  });

  it('that sends elsewhere is not followed', async () => {
    const handles = await open(({ path }) =>
      path.startsWith('/api')
        ? { status: 307, headers: { Location: '/elsewhere' } }
        : { body: { total_runs: 1 } },
    );
    expect(await faultOf(handles, 'get_dashboard_summary')).toBe(
      'the service API answered 307: Temporary Redirect',
    );
    expect(server.received).toHaveLength(1);
  });
});

describe('a service API', () => {
  it('that is not there is a tool error', async () => {
    const handles = await open(() => ({}));
    await server.close();
    expect(await faultOf(handles, 'get_dashboard_summary')).toBe('the service API did not answer');
    const { signal } = new AbortController();
    expect(await handles.backups.checkDatabase(signal)).toEqual({
      status: 'disconnected',
      latency_ms: null,
      pool_open_connections: null,
    });
    server = await startScriptedServer(() => ({}));
  });

  it.each(['not JSON', '{}', '[1]', '{"total_runs":"one"}'])(
    'that answers %j is a tool error',
    async (body) => {
      const handles = await open(() => ({ body }));
      expect(await faultOf(handles, 'get_dashboard_summary')).toBe(
        'the service API answered /api/dashboard/stats with something unexpected',
      );
    },
  );

  it('that breaks off in the middle is a tool error', async () => {
    const handles = await open(() => (response) => {
      response.writeHead(200, { 'Content-Length': '100' }).write('{"total');
      setImmediate(() => response.destroy());
    });
    expect(await faultOf(handles, 'get_dashboard_summary')).toBe('the service API did not answer');
  });

  it('without a secret is called without one', async () => {
    server = await startScriptedServer(() => ({ status: 401 }));
    const clock = createTestClock();
    const options = { url: server.url, secret: undefined, fetch, clock, log: silentLog };
    const handles = createTestHandles({ backups: createRemoteSource(options) });
    expect(await faultOf(handles, 'get_dashboard_summary')).toMatch(/ answered 401: /);
    expect(server.received[0]?.headers).not.toHaveProperty('x-internal-secret');
  });

  it('whose database is away is disconnected', async () => {
    const handles = await open(() => ({
      status: 503,
      body: { status: 'unavailable', database: 'disconnected' },
    }));
    const { signal } = new AbortController();
    expect(await handles.backups.checkDatabase(signal)).toMatchObject({ status: 'disconnected' });
    expect(server.received.map(({ path }) => path)).toEqual(['/ready']);
  });
});

it.each([
  ['trigger_backup_run', {}],
  ['record_backup_fix', { title: 't', description: 'd', author: 'a' }],
  ['search_backup_knowledge', { query: 'q' }],
])('%s needs a database', async (name, given) => {
  const handles = await open(() => ({}));
  expect(await faultOf(handles, name, given)).toBe(`${name} needs DATABASE_URL`);
  expect(server.received).toEqual([]);
});

it('the fixes of a run that is not the latest are not known, which the answer says', async () => {
  const handles = await open(({ path }) =>
    path.endsWith('/latest')
      ? { body: { run: { ...run(2, 'completed'), fixes: [] } } }
      : { body: { run: run(1, 'completed'), results: [] } },
  );
  expect(await answerOf(handles, 'get_backup_run_details', { run_id: 1 })).toMatchObject({
    fixes: [],
    note: expect.stringContaining('fixes of the latest run alone'),
  });
});

describe('a filter that the service API lacks', () => {
  it('finds runs of a status on every page', async () => {
    const runs = Array.from({ length: 1_200 }, (_, n) =>
      run(n, n % 600 === 0 ? 'failed' : 'completed'),
    );
    const handles = await open((request) => listOf(runs, request));
    const answer = await answerOf(handles, 'list_backup_runs', { status: 'failed' });
    expect(answer).toMatchObject({
      data: [{ id: 0 }, { id: 600 }],
      pagination: { total_items: 2, total_pages: 1 },
    });
    expect(answer).not.toHaveProperty('truncated');
  });

  it('gives up after 20 pages, and says so', async () => {
    const runs = Array.from({ length: 10_001 }, (_, n) =>
      run(n, n < 10_000 ? 'running' : 'failed'),
    );
    const handles = await open((request) => listOf(runs, request));
    expect(await answerOf(handles, 'list_backup_runs', { status: 'failed' })).toMatchObject({
      data: [],
      truncated: true,
    });
    expect(server.received).toHaveLength(20);
  });

  it('gives up on logs of a repository after 20 pages, and says so', async () => {
    const logs = Array.from({ length: 10_001 }, (_, n) =>
      log(n, n < 10_000 ? 'owner/b' : 'owner/a'),
    );
    const handles = await open((request) => listOf(logs, request));
    expect(await answerOf(handles, 'get_execution_logs', { repository: 'owner/a' })).toEqual({
      logs: [],
      returned: 0,
      truncated: true,
    });
  });

  it('stops as soon as it has enough', async () => {
    const logs = Array.from({ length: 5_000 }, (_, n) => log(n, 'owner/a'));
    const handles = await open((request) => listOf(logs, request));
    await answerOf(handles, 'get_execution_logs', { repository: 'owner/a', limit: 200 });
    expect(server.received).toHaveLength(1);
  });

  it('counts a row once that new rows moved to the next page', async () => {
    const logs = Array.from({ length: 501 }, (_, n) => log(n, n >= 499 ? 'owner/a' : null));
    const handles = await open((request) =>
      // One row came in between the two pages.
      listOf(pageOf(request) === 1 ? logs : [log(-1, null), ...logs], request),
    );
    const answer = await answerOf(handles, 'get_execution_logs', { repository: 'owner/a' });
    expect(answer.logs).toMatchObject([{ id: 499 }, { id: 500 }]);
  });
});

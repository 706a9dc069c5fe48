import { afterEach, describe, expect, it } from 'vitest';
import { createRemoteSource } from '../../lib/mcp/remote/source.ts';
import type { ToolDeps } from '../../lib/tools/tool.ts';
import { createTestClock } from '../support/clock.ts';
import { silentLog } from '../support/databases.ts';
import { TEST_SECRET } from '../support/deps.ts';
import {
  type ReceivedRequest,
  type ScriptedAnswer,
  type ScriptedServer,
  startScriptedServer,
} from '../support/scripted-server.ts';
import { answerOf, callTool, createTestToolDeps, faultOf } from '../support/tools.ts';

let server: ScriptedServer;
afterEach(() => server.close());

/** Deps over a service API whose answers the test scripts. */
async function open(
  answer: (request: ReceivedRequest) => ScriptedAnswer,
  secret: string | undefined = TEST_SECRET,
): Promise<ToolDeps> {
  server = await startScriptedServer(answer);
  const clock = createTestClock();
  const backups = createRemoteSource({ url: server.url, secret, fetch, clock, log: silentLog });
  return createTestToolDeps({ backups });
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
/** A page of a long list. */
const listOf = (items: readonly unknown[], request: ReceivedRequest) => {
  const page = pageOf(request);
  const limit = Number(/[?&]limit=(\d+)/.exec(request.path)?.[1] ?? 50);
  const pagination = {
    page,
    limit,
    total_items: items.length,
    total_pages: Math.ceil(items.length / limit),
  };
  return { body: { data: items.slice((page - 1) * limit, page * limit), pagination } };
};

describe('the service API client', () => {
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

  it.each(reads)('sends the secret for %s %j, only in a header', async (name, given) => {
    const deps = await open(() => ({ status: 500 }));
    await callTool(deps, name, given);
    expect(server.received.length).toBeGreaterThan(0);
    for (const { path, headers } of server.received) {
      expect(headers['x-internal-secret']).toBe(TEST_SECRET);
      expect(path).not.toContain(TEST_SECRET);
    }
  });

  it.each(reads)('reports the status and message of a refusal for %s %j', async (name, given) => {
    const message = 'internal error, request id 7';
    const deps = await open(() => ({
      status: 500,
      body: {
        success: false,
        error: { code: 'INTERNAL_ERROR', message, request_id: '7' },
        message,
      },
    }));
    expect(await faultOf(deps, name, given)).toBe(`the service API answered 500: ${message}`);
  });
});

describe('a refusal of the service API', () => {
  it.each<[string, ScriptedAnswer, string]>([
    [
      'with a message',
      { status: 400, body: { error: 'level must be one' } },
      '400: level must be one',
    ],
    ['with HTML', { status: 502, body: '<html>' }, '502: Bad Gateway'],
    ['without a body', { status: 401 }, '401: Unauthorized'],
    [
      'with a credential and line breaks',
      { status: 500, body: { error: `a\n\u001b[31mb postgres://me:hunter2@db/x` } },
      '500: a [31mb postgres://[redacted]@db/x',
    ],
    [
      'with a long message',
      { status: 500, body: { error: 'x'.repeat(9_000) } },
      `500: ${'x'.repeat(299)}…`,
    ],
    [
      'with an endless body',
      { status: 500, body: 'x'.repeat(70_000) },
      '500: Internal Server Error',
    ],
  ])('%s becomes one short line', async (_name, answer, fault) => {
    const deps = await open(() => answer);
    expect(await faultOf(deps, 'get_dashboard_summary')).toBe(`the service API answered ${fault}`);
  });

  it('is not followed if it is a redirect', async () => {
    const deps = await open(({ path }) =>
      path.startsWith('/api')
        ? { status: 307, headers: { Location: '/elsewhere' } }
        : { body: { total_runs: 1 } },
    );
    expect(await faultOf(deps, 'get_dashboard_summary')).toBe(
      'the service API answered 307: Temporary Redirect',
    );
    expect(server.received).toHaveLength(1);
  });
});

describe('the service API', () => {
  it('causes a tool error when it does not answer', async () => {
    const deps = await open(() => ({}));
    await server.close();
    expect(await faultOf(deps, 'get_dashboard_summary')).toBe('the service API did not answer');
    const { signal } = new AbortController();
    expect(await deps.backups.checkDatabase(signal)).toEqual({
      status: 'disconnected',
      latency_ms: null,
      pool_open_connections: null,
    });
    server = await startScriptedServer(() => ({}));
  });

  it.each(['not JSON', '{}', '[1]', '{"total_runs":"one"}'])(
    'causes a tool error when it answers %j',
    async (body) => {
      const deps = await open(() => ({ body }));
      expect(await faultOf(deps, 'get_dashboard_summary')).toBe(
        'the service API answered /api/dashboard/stats with an unexpected body',
      );
    },
  );

  it('causes a tool error when its answer breaks off', async () => {
    const deps = await open(() => (response) => {
      response.writeHead(200, { 'Content-Length': '100' }).write('{"total');
      setImmediate(() => response.destroy());
    });
    expect(await faultOf(deps, 'get_dashboard_summary')).toBe('the service API did not answer');
  });

  it('is called without a secret if none is set', async () => {
    server = await startScriptedServer(() => ({ status: 401 }));
    const clock = createTestClock();
    const options = { url: server.url, secret: undefined, fetch, clock, log: silentLog };
    const deps = createTestToolDeps({ backups: createRemoteSource(options) });
    expect(await faultOf(deps, 'get_dashboard_summary')).toMatch(/ answered 401: /);
    expect(server.received[0]?.headers).not.toHaveProperty('x-internal-secret');
  });

  it('is reported as disconnected when its database is down', async () => {
    const deps = await open(() => ({
      status: 503,
      body: { status: 'unavailable', database: 'disconnected' },
    }));
    const { signal } = new AbortController();
    expect(await deps.backups.checkDatabase(signal)).toMatchObject({ status: 'disconnected' });
    expect(server.received.map(({ path }) => path)).toEqual(['/ready']);
  });
});

it.each([
  ['trigger_backup_run', {}],
  ['record_backup_fix', { title: 't', description: 'd', author: 'a' }],
  ['search_backup_knowledge', { query: 'q' }],
])('%s needs a database', async (name, given) => {
  const deps = await open(() => ({}));
  expect(await faultOf(deps, name, given)).toBe(`${name} needs DATABASE_URL`);
  expect(server.received).toEqual([]);
});

it('get_backup_run_details says over the service API that it knows only the fixes of the latest run', async () => {
  const deps = await open(({ path }) =>
    path.endsWith('/latest')
      ? { body: { run: { ...run(2, 'completed'), fixes: [] } } }
      : { body: { run: run(1, 'completed'), results: [] } },
  );
  expect(await answerOf(deps, 'get_backup_run_details', { run_id: 1 })).toMatchObject({
    fixes: [],
    note: expect.stringContaining('only the fixes of the latest run'),
  });
});

describe('a filter that the service API lacks', () => {
  it('finds runs with a status on every page', async () => {
    const runs = Array.from({ length: 1_200 }, (_, n) =>
      run(n, n % 600 === 0 ? 'failed' : 'completed'),
    );
    const deps = await open((request) => listOf(runs, request));
    const answer = await answerOf(deps, 'list_backup_runs', { status: 'failed' });
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
    const deps = await open((request) => listOf(runs, request));
    expect(await answerOf(deps, 'list_backup_runs', { status: 'failed' })).toMatchObject({
      data: [],
      truncated: true,
    });
    expect(server.received).toHaveLength(20);
  });

  it('gives up on logs of a repository after 20 pages, and says so', async () => {
    const logs = Array.from({ length: 10_001 }, (_, n) =>
      log(n, n < 10_000 ? 'owner/b' : 'owner/a'),
    );
    const deps = await open((request) => listOf(logs, request));
    expect(await answerOf(deps, 'get_execution_logs', { repository: 'owner/a' })).toEqual({
      logs: [],
      returned: 0,
      truncated: true,
      more: expect.stringContaining('not all lines were searched'),
    });
  });

  it('stops as soon as enough rows are found', async () => {
    const logs = Array.from({ length: 5_000 }, (_, n) => log(n, 'owner/a'));
    const deps = await open((request) => listOf(logs, request));
    await answerOf(deps, 'get_execution_logs', { repository: 'owner/a', limit: 200 });
    expect(server.received).toHaveLength(1);
  });

  it('counts a row once if new rows moved it to the next page', async () => {
    const logs = Array.from({ length: 501 }, (_, n) => log(n, n >= 499 ? 'owner/a' : null));
    const deps = await open((request) =>
      // A row was added between the two requests.
      listOf(pageOf(request) === 1 ? logs : [log(-1, null), ...logs], request),
    );
    const answer = await answerOf(deps, 'get_execution_logs', { repository: 'owner/a' });
    expect(answer.logs).toMatchObject([{ id: 499 }, { id: 500 }]);
  });
});

import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { tools as offered } from '../../lib/tools/catalogue.ts';
import { findFreePort } from '../../scripts/free-port.ts';
import { createPostgres, type TestDatabase } from '../support/databases.ts';
import { TEST_SECRET } from '../support/deps.ts';
import { emptyFolder, startIn } from '../support/local-start.ts';
import { connectHttp, connectSse, TEST_TOKEN, withToken } from '../support/mcp.ts';
import { insertRun } from '../support/records.ts';
import { runScript, startScript } from '../support/script.ts';

let folder: Awaited<ReturnType<typeof emptyFolder>>;
beforeAll(async () => {
  folder = await emptyFolder();
});
afterAll(() => folder.remove());

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** No database, and nothing listens at the address of the service API. */
const alone = { BACKEND_URL: 'http://127.0.0.1:1' };
const run = (args: string[], env: Record<string, string> = {}, stdin = '') =>
  runScript('mcp', { args, env: { ...alone, ...env }, cwd: folder.path, stdin });

const request = (id: number, method: string, params = {}) =>
  `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;

describe('npm run mcp over stdio', () => {
  it('writes only protocol messages to stdout and only JSON to stderr', async () => {
    const { code, stdout, stderr } = await run(
      [],
      { LOG_LEVEL: 'debug', MCP_TRANSPORT: 'stdio' },
      [
        request(1, 'initialize', {
          protocolVersion: '2024-11-05',
          capabilities: {},
          clientInfo: { name: 'x', version: '1' },
        }),
        'this is no JSON\n',
        request(2, 'tools/call', { name: 'get_system_health' }),
        request(3, 'tools/call', { name: 'list_backup_runs' }),
      ].join(''),
    );
    expect(code).toBe(0);
    const messages = stdout.split('\n').filter((line) => line !== '');
    expect(messages.map((line) => JSON.parse(line).id).sort()).toEqual([1, 2, 3]);
    for (const line of messages) expect(JSON.parse(line).jsonrpc).toBe('2.0');
    const records = stderr.split('\n').filter((line) => line !== '');
    expect(records.map((line) => JSON.parse(line).message)).toContain('mcp request');
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('ends with code 0 on %s', async (signal) => {
    const server = startScript('mcp', { env: alone, cwd: folder.path, stdin: null });
    server.child.stdin?.write(request(1, 'ping'));
    await server.waitFor(/"id":1/);
    server.child.kill(signal);
    expect((await server.finished).code).toBe(0);
  });

  it('ends when the client closes stdout', async () => {
    const server = startScript('mcp', { env: alone, cwd: folder.path, stdin: null });
    server.child.stdin?.write(request(1, 'ping'));
    await server.waitFor(/"id":1/);
    server.child.stdout?.destroy();
    server.child.stdin?.write(request(2, 'ping'));
    expect((await server.finished).code).toBe(0);
  });
});

describe('npm run mcp refuses to start', () => {
  it.each([
    ['an unknown transport', ['--transport', 'ws'], {}, /^--transport must be/],
    ['an unknown transport in the environment', [], { MCP_TRANSPORT: 'ws' }, /^MCP_TRANSPORT must/],
    ['an invalid port', ['--port', 'http'], {}, /^--port must be a port number/],
    ['http without a token', ['--transport', 'http'], {}, /^MCP_AUTH_TOKEN must be set/],
    ['sse without a token', ['--transport=sse'], {}, /^MCP_AUTH_TOKEN must be set/],
  ])('with %s', async (_what, args, env, error) => {
    const { code, stdout, stderr } = await run(args, env);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(error);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });

  it('with an unknown option, and shows the valid ones', async () => {
    const { code, stderr } = await run(['--transprot', 'http']);
    expect(code).toBe(2);
    expect(stderr).toContain('--transprot');
    expect(stderr).toContain('Usage: npm run -s mcp');
  });

  it('on a port in use, and names MCP_PORT', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    const { code, stderr } = await run(['--transport', 'http'], {
      MCP_AUTH_TOKEN: TEST_TOKEN,
      MCP_PORT: String(port),
    });
    taken.close();
    expect(code).toBe(1);
    expect(stderr).toContain(`MCP_PORT ${port} is already in use`);
  });
});

it('npm run mcp prints its usage', async () => {
  const { code, stdout } = await run(['--help']);
  expect(code).toBe(0);
  expect(stdout).toContain('--transport');
});

describe.each(['http', 'sse'] as const)('the %s server', (transport) => {
  it('takes its transport from the environment and never reads PORT or SERVER_PORT', async () => {
    const server = startScript('mcp', {
      env: {
        ...alone,
        MCP_TRANSPORT: transport,
        MCP_AUTH_TOKEN: TEST_TOKEN,
        MCP_PORT: '0',
        PORT: '1',
        SERVER_PORT: '1',
      },
      cwd: folder.path,
    });
    const [, url = ''] = await server.waitFor(/listens at (http:\/\/[^/]+)/);
    expect(url).not.toContain(':1/');
    expect((await fetch(`${url}/health`)).status).toBe(200);
    const path = transport === 'http' ? '/mcp' : '/sse';
    expect((await fetch(`${url}${path}`)).status).toBe(401);
    expect(server.output()).not.toContain(TEST_TOKEN);
    server.child.kill('SIGTERM');
    expect((await server.finished).code).toBe(0);
  });
});

describe('the data of npm run mcp, next to a server with an embedded database,', () => {
  let beside: Record<string, string>;
  beforeAll(async () => {
    beside = { EMBEDDED_DB_PORT: String(await findFreePort(54_400)) };
    const server = await startIn(folder.path, beside);
    return async () => {
      server.child.kill('SIGTERM');
      await server.finished;
    };
  });

  const ask = async (env: Record<string, string>, name = 'get_dashboard_summary') => {
    const call = request(1, 'tools/call', { name });
    const { stdout } = await runScript('mcp', { env, cwd: folder.path, stdin: call });
    const { result } = JSON.parse(stdout);
    return result.isError ? result.content[0].text : result.structuredContent;
  };
  const readTotal = async (env: Record<string, string>) => {
    const answer = await ask(env);
    return answer.total_runs ?? answer;
  };
  const fill = async (database: TestDatabase, runs: number) => {
    closing.push(() => database.close());
    for (let n = 0; n < runs; n++) await insertRun(database.db);
    return database.url;
  };
  const startApi = async (databaseUrl: string) => {
    const { path, remove } = await emptyFolder();
    const env = { DATABASE_URL: databaseUrl, INTERNAL_SECRET: TEST_SECRET };
    const server = await startIn(path, env);
    closing.push(async () => {
      server.child.kill('SIGTERM');
      await server.finished;
      await remove();
    });
    return server.url;
  };
  const INTERNAL_SECRET = TEST_SECRET;

  it('comes from DATABASE_URL, whatever else is available', async () => {
    const DATABASE_URL = await fill(await createPostgres(), 2);
    expect(await readTotal({ ...beside, BACKEND_URL: alone.BACKEND_URL, DATABASE_URL })).toBe(2);
  });

  it('comes from BACKEND_URL if that is set', async () => {
    const BACKEND_URL = await startApi(await fill(await createPostgres(), 3));
    expect(await readTotal({ ...beside, BACKEND_URL, INTERNAL_SECRET })).toBe(3);
    const wrong = 'another-secret-that-the-server-does-not-know';
    expect(await readTotal({ ...beside, BACKEND_URL, INTERNAL_SECRET: wrong })).toMatch(/401/);
  });

  it('comes from that database without either, which also allows writing', async () => {
    expect(await readTotal(beside)).toBe(0);
    expect(await ask(beside, 'trigger_backup_run')).toMatchObject({ status: 'pending' });
  });
});

describe('npm start', () => {
  it('serves streamable HTTP and SSE, and can end while a session is open', async () => {
    const { path, remove } = await emptyFolder();
    const server = await startIn(path, {
      INTERNAL_SECRET: TEST_SECRET,
      MCP_AUTH_TOKEN: TEST_TOKEN,
    });
    closing.push(async () => {
      server.child.kill('SIGKILL');
      await server.finished;
      await remove();
    });
    const http = await connectHttp(`${server.url}/mcp`);
    expect((await http.listTools()).tools).toHaveLength(offered.length);
    const sse = await connectSse(`${server.url}/sse`);
    const health = await sse.callTool({ name: 'get_system_health' });
    expect(health.structuredContent).toMatchObject({
      database: { status: 'connected' },
      storage: { total_disk_bytes: expect.any(Number) },
    });
    const response = await fetch(`${server.url}/`, { headers: withToken });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
    server.child.kill('SIGTERM');
    expect((await server.finished).code).toBe(0);
    expect(server.output()).not.toContain('cut off by the shutdown');
    await Promise.allSettled([http.close(), sse.close()]);
  });
});

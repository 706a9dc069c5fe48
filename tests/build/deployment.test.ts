import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { observatoryEndpoints } from '../../lib/observatory/observatory-endpoints.ts';
import { buildOutputConfig, functionPath, surfaces } from '../../lib/surfaces/surface-paths.ts';
import { type BuiltProject, buildProject, hasVercelCli } from '../support/build-output.ts';
import { askStream, scriptChat } from '../support/chat.ts';
import { withSecret } from '../support/deps.ts';
import { asMessage, connectHttp, connectSse, withToken } from '../support/mcp.ts';
import { insertLog } from '../support/records.ts';
import { hasRedisServer } from '../support/redis-server.ts';
import { deployToStandIn } from '../support/vercel-deploy.ts';
import { type Answer, ask, maskText } from './answers.ts';
import { CRON_SECRET, type Side, startTwoServers, type TwoServers } from './two-servers.ts';

// The output of `vercel build`, and the same requests to it and to the server of `npm start`.

let project: BuiltProject;

beforeAll(async () => {
  project = await buildProject(hasVercelCli ? 'vercel' : 'npm');
});
afterAll(() => project?.remove());

describe('the output of a build', () => {
  it('lists the table of paths before any other route, and the cron jobs once', async () => {
    const config = JSON.parse(await readFile(join(project.output, 'config.json'), 'utf8'));
    const { version, routes, crons } = buildOutputConfig();
    expect(config.version).toBe(version);
    expect(config.routes.slice(0, routes.length)).toEqual(routes);
    expect(config.crons).toEqual(crons);
  });

  it('has a folder with modules and their source maps for each function, and no other files', async () => {
    const functions = join(project.output, 'functions');
    const built = await readdir(functions, { recursive: true, withFileTypes: true });
    const folders = built.filter((entry) => entry.isFile()).map(({ parentPath }) => parentPath);
    expect([...new Set(folders)].sort()).toEqual(
      surfaces.map((surface) => join(functions, `${functionPath(surface)}.func`)).sort(),
    );
    for (const surface of surfaces) {
      const folder = join(functions, `${functionPath(surface)}.func`);
      const files = await readdir(folder);
      const modules = files.filter((name) => name.endsWith('.mjs'));
      expect(modules).toContain('index.mjs');
      expect(files.sort()).toEqual(
        ['.vc-config.json', ...modules, ...modules.map((name) => `${name}.map`)].sort(),
      );
      const code = await readFile(join(folder, 'index.mjs'), 'utf8');
      expect(code).toMatch(/\/\/# sourceMappingURL=index\.mjs\.map\s*$/);
      const map = JSON.parse(await readFile(join(folder, 'index.mjs.map'), 'utf8'));
      expect(map.sources).toContain(surface.entry.replace('api/', ''));
      expect(JSON.parse(await readFile(join(folder, '.vc-config.json'), 'utf8'))).toMatchObject({
        runtime: 'nodejs24.x',
        handler: 'index.mjs',
        launcherType: 'Nodejs',
        supportsResponseStreaming: true,
        maxDuration: surface.maxDuration,
      });
    }
  });

  it('has the page as static files', async () => {
    const page = join(project.output, 'static/app');
    const html = await readFile(join(page, 'index.html'), 'utf8');
    const [, script = ''] = /src="\/app\/(assets\/index-[^"]+)"/.exec(html) ?? [];
    expect(await readFile(join(page, script), 'utf8')).toContain('import(');
  });

  it.skipIf(!hasVercelCli)('is accepted by the Vercel CLI', () => {
    expect(project.log).toContain('Build Completed');
    expect(project.log).not.toMatch(/error/i);
  });

  it.skipIf(!hasVercelCli)('is uploaded completely by `vercel deploy --prebuilt`', async () => {
    const files = await readdir(project.output, { recursive: true, withFileTypes: true });
    const built = files
      .filter((file) => file.isFile())
      .map(({ parentPath, name }) => relative(project.folder, join(parentPath, name)));
    expect(built).toContain('.vercel/output/functions/api/mcp.func/index.mjs');
    expect(await deployToStandIn(project.folder, ['--prebuilt'])).toEqual(built.sort());
  });
});

/** An operation in the OpenAPI document. */
interface Operation {
  path: string;
  method: string;
  security: Record<string, unknown>[];
}

interface Document {
  paths: Record<string, Record<string, Omit<Operation, 'path' | 'method'>>>;
}

/** The headers of a caller with the right credentials, by security scheme. */
const credentials: Record<string, (side: Side) => Record<string, string>> = {
  InternalSecret: () => withSecret,
  CronBearer: () => ({ Authorization: `Bearer ${CRON_SECRET}` }),
  McpBearer: () => withToken,
  UserToken: ({ token }) => ({ Authorization: `Bearer ${token}` }),
};

const ID = '5f0d2a1e-1111-4222-8333-444455556666';

describe.skipIf(!hasRedisServer)('the built functions', () => {
  let servers: TwoServers;
  let operations: Operation[];
  let compared = 0;

  beforeAll(async () => {
    servers = await startTwoServers(project.output);
    const response = await fetch(`${servers.local.url}/openapi.json`);
    const document = (await response.json()) as Document;
    operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, operation]) => 'security' in operation)
        .map(([method, { security }]) => ({ path, method: method.toUpperCase(), security })),
    );
  });
  beforeEach(() => servers.forgetClients());
  afterAll(() => servers?.close());

  /** Sends the same request to both servers, and expects the same response. */
  async function compare(
    path: string,
    init: RequestInit = {},
    headers: (side: Side) => Record<string, string> = () => ({}),
  ): Promise<Answer> {
    // Anonymous requests are counted, and a server remembers who exceeded the limit.
    compared += 1;
    if (compared % 40 === 0) await servers.forgetClients();
    const [built, local] = await Promise.all(
      [servers.built, servers.local].map((side) => {
        const all = { ...(init.headers as Record<string, string>), ...headers(side) };
        return ask(`${side.url}${path}`, { ...init, headers: all });
      }),
    );
    expect(built, `${init.method ?? 'GET'} ${path}`).toEqual(local);
    return built as Answer;
  }

  const addressOf = ({ path }: Operation) =>
    path.replace(/\{(\w+)\}/g, path.startsWith('/api/') ? '1' : ID);
  const asJson = { 'Content-Type': 'application/json' };
  const bodyOf = ({ method }: Operation): RequestInit =>
    ['GET', 'DELETE'].includes(method) ? { method } : { method, body: '{}', headers: asJson };

  it('answer every documented operation like `npm start` without credentials', async () => {
    expect(operations.length).toBeGreaterThan(40);
    for (const operation of operations) {
      const { status } = await compare(addressOf(operation), bodyOf(operation));
      if (operation.security.length > 0) expect(status, operation.path).toBe(401);
    }
  });

  /**
   * A function has no archives and starts no process, and says so where `npm start` does; the key that signs drills is
   * made when a server starts.
   */
  const isOfMachine = ({ path }: Operation) =>
    /\/(archive(-folder)?|compare)(\/|$)|^\/config$|^\/api\/(restores|sources|schedules|overview|signing-keys)/.test(
      path,
    );

  it('answer every documented operation like `npm start` with credentials', async () => {
    for (const operation of operations.filter((operation) => !isOfMachine(operation))) {
      const [scheme = ''] = operation.security.flatMap((one) => Object.keys(one));
      const { status } = await compare(
        addressOf(operation),
        bodyOf(operation),
        credentials[scheme],
      );
      expect([401, 500], `${operation.method} ${operation.path}`).not.toContain(status);
    }
  });

  it('report that the archives are elsewhere', async () => {
    const { url, token } = servers.built;
    const headers = { Authorization: `Bearer ${token}` };
    const archive = await ask(`${url}/api/repos/acme/api/archive`, { headers });
    expect([archive.status, archive.body]).toEqual([503, expect.stringContaining('archive')]);
    const { data } = JSON.parse((await ask(`${url}/observatory/config`, { headers })).body);
    expect(data.features.archives).toEqual({ enabled: false, reason: expect.any(String) });
  });

  it('do not treat a path with a trailing slash like the one without, with or without credentials', async () => {
    // MCP clients use both forms.
    const others = operations.filter(({ path }) => !['/', '/mcp', '/mcp/'].includes(path));
    for (const operation of others) {
      const [scheme = ''] = operation.security.flatMap((one) => Object.keys(one));
      for (const way of [undefined, credentials[scheme]]) {
        const { status } = await compare(`${addressOf(operation)}/`, bodyOf(operation), way);
        expect([401, 404], `${operation.method} ${operation.path}/`).toContain(status);
      }
    }
  });

  it('answer the prefixed paths of the observatory like `npm start`', async () => {
    for (const { route } of observatoryEndpoints) {
      const { method, path } = route;
      const address = path.replace(/:\w+/g, ID);
      await compare(
        `/observatory${address}`,
        bodyOf({ method: method.toUpperCase(), path, security: [] }),
      );
    }
  });

  it.each([
    ['/app/', 200],
    ['/app/runs/12?page=2', 200],
    ['/app/repositories/acme/web.js', 200],
    ['/app/icon.svg', 200],
    ['/app/assets/missing.js', 404],
    ['/app', 302],
    ['/App/', 404],
  ])('serve the page at %s like `npm start`', async (path, expected) => {
    const [built, local] = await Promise.all(
      [servers.built, servers.local].map(async ({ url }) => {
        const { status, headers, body } = await ask(`${url}${path}`);
        // The platform sets these itself.
        const { etag, 'last-modified': modified, 'content-type': type, ...kept } = headers;
        return status === 404 ? { status } : { status, headers: kept, body };
      }),
    );
    expect(built).toEqual(local);
    expect(built?.status).toBe(expected);
  });

  it('redirect only browsers from / to the page', async () => {
    const asBrowser = { headers: { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } };
    expect((await compare('/', asBrowser)).headers.location).toBe('/app/');
    expect((await compare('/', { ...asBrowser, method: 'POST' })).status).toBe(401);
    expect((await compare('/')).status).toBe(401);
  });

  it.each([
    '/nowhere',
    '/api/nowhere',
    '/api/live',
    '/api/mcp',
    '/api/observatory',
    '/robots.txt',
    '/MCP',
    '/Auth/login',
    '/API/backups',
  ])('answer the unknown path %s like `npm start`', async (path) => {
    for (const headers of [{}, withSecret]) await compare(path, { headers });
    await compare(path, { method: 'DELETE', headers: withSecret });
  });

  it.each([
    '/api/backups?limit=2',
    '/api/backups?page=2&limit=2',
    '/api/repos',
    '/api/logs?level=error&limit=3',
    '/api/logs?run_id=1',
    '/api/logs?level=loud',
    '/api/analytics',
    '/api/dashboard/stats',
    '/api/metrics?days=3650',
  ])('list %s like `npm start`', async (path) => {
    await compare(path, { headers: withSecret });
  });

  it('handle logins, searches, sessions and reports like `npm start`', async () => {
    const wrong = new URLSearchParams({ username: 'ada', password: 'wrong' });
    expect((await compare('/auth/login', { method: 'POST', body: wrong })).status).toBe(401);
    const post = (path: string, value: unknown) =>
      compare(
        path,
        { method: 'POST', body: JSON.stringify(value), headers: asJson },
        credentials.UserToken,
      );
    const found = await post('/search', { query: 'cloning' });
    expect(JSON.parse(found.body).data.results).toHaveLength(6);
    const session = await post('/sessions', { id: ID, session_name: 'one' });
    expect(session.status).toBe(201);
    const report = await post('/reports', { report_type: 'latest_backup' });
    expect(report.status).toBe(201);
  });

  it('serve MCP clients over both transports', async () => {
    const answers = await Promise.all(
      [servers.built, servers.local].map(async ({ url }) => {
        const http = await connectHttp(`${url}/mcp`);
        const sse = await connectSse(`${url}/sse`);
        const tools = await http.listTools();
        const call = { name: 'get_backup_run_details', arguments: { run_id: 1 } };
        const results = [await http.callTool(call), await sse.callTool(call)];
        await Promise.all([http.close(), sse.close()]);
        return maskText(JSON.stringify({ tools, results }));
      }),
    );
    expect(answers[0]).toBe(answers[1]);
    expect(answers[0]).toContain('ada/app');
    await compare('/', { method: 'POST', body: '{}', headers: { ...asMessage, ...withToken } });
    expect((await compare('/', { headers: withToken })).status).toBe(405);
  });

  it('stream logs over SSE and WebSocket', async () => {
    for (const { url, database } of [servers.built, servers.local]) {
      const stream = await fetch(`${url}/api/logs/stream?after_id=6`, { headers: withSecret });
      const ws = new WebSocket(`${url.replace('http', 'ws')}/ws/live`, { headers: withSecret });
      await once(ws, 'open');
      const received = once(ws, 'message');
      await insertLog(database.db, { message: 'hello' });
      let text = '';
      for await (const chunk of stream.body ?? []) {
        text += Buffer.from(chunk).toString();
        if (text.includes('event: log')) break;
      }
      const [message] = await received;
      expect(text).toContain(`data: ${message}\n\n`);
      expect(JSON.parse(String(message))).toMatchObject({ id: 7, message: 'hello' });
      ws.close();
      const [code] = await once(ws, 'close');
      expect(code).toBe(1005);
    }
  });

  it('refuse a WebSocket without the secret', async () => {
    for (const { url } of [servers.built, servers.local]) {
      const ws = new WebSocket(`${url.replace('http', 'ws')}/ws/live`);
      const [, response] = await once(ws, 'unexpected-response');
      expect(response.statusCode).toBe(401);
      expect(response.headers['www-authenticate']).toBe('Bearer realm=backup-api');
    }
  });

  it('stream a chat with a tool call', async () => {
    const streams: string[] = [];
    for (const { url, token } of [servers.built, servers.local]) {
      scriptChat(
        servers.gateway,
        { calls: [{ id: 'call-1', name: 'get_backup_run_details', args: { run_id: 1 } }] },
        { text: ['Two ', 'repositories.'] },
      );
      const post = (path: string, json: unknown) =>
        fetch(`${url}${path}`, {
          method: 'POST',
          headers: { ...asJson, Authorization: `Bearer ${token}` },
          body: JSON.stringify(json),
        });
      const { ended } = await askStream({ post }, { question: 'How many?' });
      const events = await ended;
      expect(events.map(({ type }) => type)).toContain('tool_end');
      streams.push(maskText(JSON.stringify(events)));
    }
    expect(streams[0]).toBe(streams[1]);
  });

  it('have logged no error', () => {
    expect(servers.platform.errors()).toBe('');
  });
});

import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callers, readAccessTable } from '../../scripts/tables/access-table.ts';
import { asMessage } from '../support/mcp.ts';
import { sql } from '../support/records.ts';
import { runScript } from '../support/script.ts';
import { rowsOf } from '../support/worker.ts';
import { type AccessRequest, makeRequest } from './access-requests.ts';
import { ask, type PlainAnswer } from './ask.ts';
import { findCanaries, findInFiles, makeCanary, plain } from './canaries.ts';
import { type LeakWorld, startLeakWorld } from './leak-world.ts';

// Plants a canary in every secret, triggers every error path, and then searches all output for canaries:
// responses, logs, metrics, mails, the database, files, arguments and environments.

let world: LeakWorld;
/** Every response, by request. */
const answers: [string, string][] = [];
let asked = 0;

beforeAll(async () => {
  world = await startLeakWorld();
});
afterAll(() => world.close());

const PREFIX = '/observatory';
const rows = readAccessTable().map(({ method, path, access }) => ({
  method,
  path: path.startsWith(`${PREFIX}/`) && path !== `${PREFIX}/ready` ? path.slice(12) : path,
  caller: callers.findLast((caller) => access[caller] === 'yes') ?? 'nobody',
}));

async function note(
  method: string,
  path: string,
  question: { headers?: Record<string, string>; body?: string; endless?: boolean } = {},
): Promise<PlainAnswer> {
  asked += 1;
  const headers = { 'X-Forwarded-For': `198.18.${asked >> 8}.${asked & 255}`, ...question.headers };
  const answer = await ask(world.server.url, { method, path, ...question, headers });
  const head = Object.entries(answer.headers).map(([name, value]) => `${name}: ${value}`);
  answers.push([`${method} ${path}: ${answer.status}`, `${head.join('\n')}\n\n${answer.text}`]);
  return answer;
}

/** Nothing can await confirmation while Redis, which stores the questions, is down, so any id gets 503. */
const isConfirmation = (path: string) => path === '/chat/confirm';
const noConfirmation: AccessRequest = {
  path: '/chat/confirm',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ confirm_id: randomUUID(), approve: true }),
  answers: 503,
};

/** Calls every route with a valid credential, and with an invalid one. */
async function askEverything(): Promise<void> {
  for (const { method, path, caller } of rows) {
    const request = isConfirmation(path)
      ? noConfirmation
      : await makeRequest(world, method, path).catch(() => null);
    const asking: Partial<AccessRequest> = request ?? { path: path.replace(':id', '1') };
    for (const way of [world.ways[caller][0], world.ways.wrong[1]]) {
      const headers = { ...asking.headers, ...way?.headers };
      await note(method, asking.path ?? path, { ...asking, headers });
    }
    await request?.done?.();
  }
}

/** Calls tools of MCP that reach the other parts. */
async function callTools(): Promise<void> {
  const [way] = world.ways.mcp;
  const calls: [string, object][] = [
    ['get_system_health', {}],
    ['get_dashboard_summary', {}],
    ['diagnose_backup_failure', {}],
    ['search_backup_knowledge', { query: 'widgets' }],
    ['verify_archive_integrity', { repo_name: 'acme/widgets' }],
    ['extract_backup_file', { repo_name: 'acme/widgets', file_path: 'README.md' }],
    ['send_backup_report', { subject: 'a', content_markdown: 'b' }],
    ['trigger_backup_run', { target_repo: 'acme/widgets' }],
    ['no_such_tool', {}],
  ];
  for (const [name, args] of calls) {
    const message = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: args },
    };
    const { text } = await note('POST', '/mcp', {
      headers: {
        ...asMessage,
        ...way?.headers,
      },
      body: JSON.stringify(message),
    });
    expect(text, name).toContain('jsonrpc');
  }
}

const userHeaders = () => ({ ...world.ways.user[0]?.headers, 'Content-Type': 'application/json' });

describe('secrets are sent to', () => {
  it('every route while Redis and other services echo requests', async () => {
    await askEverything();
    await callTools();
  });

  it.each([400, 401, 402, 403, 404, 429, 500, 200])(
    'routes that need the gateway while it answers %i and echoes the keys',
    async (status) => {
      world.gateway.always = {
        status,
        body: { error: { message: `no: ${world.environment.GATEWAY_API_KEYS}` } },
      };
      for (const path of ['/chat', '/chat/stream']) {
        await note('POST', path, { headers: userHeaders(), body: '{"question":"Why?"}' });
      }
      const search = { query: 'widgets', rerank_model_id: 'acme/rerank-free' };
      await note('POST', '/search', { headers: userHeaders(), body: JSON.stringify(search) });
      const exchange = { code: `code-${status}`, code_verifier: 'v'.repeat(43) };
      const body = JSON.stringify(exchange);
      await note('POST', '/me/gateway/exchange', { headers: userHeaders(), body });
      world.gateway.always = null;
    },
  );

  it("the routes that accept, store, use and reject a user's own key", async () => {
    const code = makeCanary('a code of the gateway');
    const verifier = makeCanary('a code verifier', (core) => `${core}${'v'.repeat(43)}`);
    world.canaries.push(code, verifier);
    const exchange = { code: code.value, code_verifier: verifier.value };
    const body = JSON.stringify(exchange);
    const taken = await note('POST', '/me/gateway/exchange', { headers: userHeaders(), body });
    expect(taken.status).toBe(200);
    world.gateway.always = {
      status: 401,
      body: { error: { message: `no: ${world.gateway.issuedKey}` } },
    };
    const question = { headers: userHeaders(), body: '{"question":"Why?"}' };
    expect((await note('POST', '/chat', question)).status).toBe(403);
    world.gateway.always = null;
  });

  it('a mail service that rejects requests and echoes them', async () => {
    const { RESEND_API_KEY: key, SMTP_TO: to = '' } = world.environment;
    for (const status of [400, 401, 500, 500]) {
      world.mail.faults.push({ status, body: { name: 'x', message: `no: Bearer ${key}` } });
    }
    const recipients = [to.split(',')[0]];
    const body = JSON.stringify({ report_type: 'latest_backup', recipients });
    for (let n = 0; n < 3; n += 1) {
      const { status } = await note('POST', '/reports', { headers: userHeaders(), body });
      expect(status).toBe(502);
    }
  });

  it('alert channels that echo requests', async () => {
    const token = makeCanary('a channel of the page', plain);
    world.canaries.push(token);
    const { host } = new URL(world.echo.url);
    const channel = { name: 'page', address: `gotify+http://${host}/${token.value}` };
    const body = JSON.stringify(channel);
    const added = await note('POST', '/alert-channels', { headers: userHeaders(), body });
    expect(added.status).toBe(201);
    for (const name of ['ntfy-1', 'page']) {
      const path = `/alert-channels/${name}/test`;
      const { text } = await note('POST', path, { headers: userHeaders() });
      expect(text).toContain('answered 500');
    }
    await note('GET', '/alert-channels', { headers: userHeaders() });
    const invalid = JSON.stringify({ name: 'bad', address: `slack://${token.value}` });
    await note('POST', '/alert-channels', { headers: userHeaders(), body: invalid });
  });

  it('logins, also with a password instead of the name', async () => {
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const wrong = makeCanary('a wrong password');
    world.canaries.push(wrong);
    const right = world.environment.AUTH_PASSWORD ?? '';
    for (const [username = '', password = ''] of [
      ['ada', right],
      ['ada', wrong.value],
      [wrong.value, ''],
      [right, right],
      ['ada', `${right}${'x'.repeat(2_000)}`],
    ]) {
      const body = new URLSearchParams({ username, password }).toString();
      const { status } = await note('POST', '/auth/login', { headers: form, body });
      expect([200, 400, 401]).toContain(status);
    }
  });

  it.each([
    ['doctor', []],
    ['migrate', []],
    ['users', ['list']],
    ['alerts', ['test']],
    ['worker', ['auth', 'status', '--json']],
  ])('npm run %s -- %j next to the server', async (name, args: string[]) => {
    const { environment, folder: cwd, echo } = world;
    const env = { ...environment, RESEND_BASE_URL: echo.url };
    const { stdout, stderr } = await runScript(name, { args, env, cwd });
    expect(stdout + stderr).not.toBe('');
    answers.push([`npm run ${name}`, stdout + stderr]);
  });

  it('routes in the wrong part of a request', async () => {
    for (const { value } of world.canaries.slice(0, 8)) {
      const text = encodeURIComponent(value);
      for (const path of [`/api/backups/${text}`, `/api/logs?level=${text}`, `/nope/${text}`]) {
        await note('GET', path, { headers: { 'User-Agent': value, Referer: value } });
      }
    }
  });

  it('routes with input that would forge log records or control a terminal', async () => {
    const forged = '{"level":"error","message":"forged"}';
    const signs = '\u001b[2J\u001b]0;owned\u0007\u009b31m\u0085';
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
    for (const header of [
      'X-Request-ID',
      'User-Agent',
      'X-Forwarded-For',
      'Last-Event-ID',
      'Origin',
    ]) {
      for (const value of ['a\tb', `${forged}${'\u0085'}`, '\u009b2J', '"}\\n{"']) {
        await note('GET', '/api/nope', { headers: { [header]: value } });
      }
    }
    for (const text of [`a\n${forged}\n`, `\r\n${forged}`, signs, `\u2028${forged}`]) {
      const body = new URLSearchParams({ username: text, password: text }).toString();
      await note('POST', '/auth/login', { headers: form, body });
      await note('GET', `/api/backups?page=${encodeURIComponent(text)}`, {
        headers: world.ways.internal[0]?.headers ?? {},
      });
      const question = JSON.stringify({ question: text, model: text.slice(0, 50) });
      await note('POST', '/chat', { headers: userHeaders(), body: question });
      const params = { name: text.slice(0, 60), arguments: { [text]: text } };
      await note('POST', '/mcp', {
        headers: { ...asMessage, ...world.ways.mcp[0]?.headers },
        body: JSON.stringify({ jsonrpc: '2.0', id: text, method: 'tools/call', params }),
      });
    }
  });

  it('every route while a table is missing, and while the database rejects connections', async () => {
    const { db } = world.database;
    await sql(db, 'ALTER TABLE backup_runs RENAME TO gone');
    await askEverything();
    expect(answers.some(([, text]) => text.includes('INTERNAL_ERROR'))).toBe(true);
    await sql(db, 'ALTER TABLE gone RENAME TO backup_runs');
    await sql(db, `ALTER ROLE ${world.role} NOLOGIN`);
    await sql(
      db,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${world.role}'`,
    );
    await askEverything();
    expect(answers.some(([, text]) => text.includes('SERVICE_UNAVAILABLE'))).toBe(true);
    await sql(db, `ALTER ROLE ${world.role} LOGIN`);
  });
});

describe('afterwards the search', () => {
  it('finds no canary in a response', () => {
    expect(answers.length).toBeGreaterThan(300);
    const faults = answers.flatMap(([name, text]) =>
      findCanaries(text, world.canaries).map((fault) => `${name}: ${fault}`),
    );
    expect(faults).toEqual([]);
  });

  it('finds the faults in the log, but no canary there or on the terminal', () => {
    const output = world.script.output();
    expect(output).toMatch(/"level":"error"/);
    expect(output).toMatch(/"level":"warn"/);
    expect(findCanaries(output, world.canaries)).toEqual([]);
  });

  it('finds one complete record per line in the log, without control characters', () => {
    const lines = world.script.output().trimEnd().split('\n');
    const records = lines.filter((line) => line.startsWith('{'));
    expect(records.length).toBeGreaterThan(50);
    const messages = records.map((line) => JSON.parse(line).message);
    expect(messages).not.toContain('forged');
    expect(world.script.output()).not.toMatch(/(?!\n)\p{Cc}|[\u2028\u2029]/u);
    // The only other lines are the greeting of the server.
    const others = lines.filter((line) => !line.startsWith('{') && line !== '');
    expect(
      others.filter(
        (line) =>
          !/^( {2}\w|Building|When runs start is set |Open this|Try a request|Back |Backup )/.test(
            line,
          ),
      ),
    ).toEqual([]);
  });

  it('finds no canary in a mail', () => {
    expect(world.mail.requests.length).toBeGreaterThan(0);
    const mails = JSON.stringify(world.mail.requests.map(({ mail }) => mail));
    expect(findCanaries(mails, world.canaries)).toEqual([]);
  });

  it('finds no canary in requests to the gateway, except its keys', () => {
    const bodies = world.gateway.requests.map(({ path, body }) => [path, body] as const);
    // The exchange legitimately contains a code and its verifier.
    const others = bodies.filter(([path]) => path !== '/auth/keys');
    expect(findCanaries(JSON.stringify(others), world.canaries)).toEqual([]);
  });

  it('finds no canary in the database', async () => {
    const { db } = world.database;
    const tables = await rowsOf<{ name: string }>(
      db,
      "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'",
    );
    expect(tables.length).toBeGreaterThan(10);
    for (const { name } of tables) {
      const content = await rowsOf(db, `SELECT it::text AS row FROM ${name} it`);
      expect({ name, found: findCanaries(JSON.stringify(content), world.canaries) }).toEqual({
        name,
        found: [],
      });
    }
  });

  it('finds no canary in a file of the server', async () => {
    expect(await findInFiles(world.folder, world.canaries)).toEqual([]);
  });

  it('finds no canary in arguments of the server, or in arguments and environment of git', async () => {
    const { pid } = world.script.child;
    const processes = await world.childProcesses();
    expect(processes.some((text) => text.includes('bundle'))).toBe(true);
    expect(findCanaries(processes.join('\n'), world.canaries)).toEqual([]);
    if (process.platform !== 'linux') return;
    expect(findCanaries(await readFile(`/proc/${pid}/cmdline`), world.canaries)).toEqual([]);
  });
});

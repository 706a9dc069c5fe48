import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tools } from '../../lib/tools/catalogue.ts';
import { describeTool } from '../../lib/tools/describe-tool.ts';
import { allRoutes } from '../../scripts/build/openapi.ts';
import { callers, readAccessTable } from '../../scripts/tables/access-table.ts';
import { scriptChat } from '../support/chat.ts';
import { asMessage } from '../support/mcp.ts';
import { sql } from '../support/records.ts';
import { makeRequest } from './access-requests.ts';
import { type AccessWorld, startAccessWorld } from './access-world.ts';
import { ask } from './ask.ts';

// Sends SQL in every parameter, field and argument of every route and tool. If any of it ran, it would
// advance a sequence, which no rollback undoes.

/** SQL that would escape from a value: a string, a number, an identifier, a list or a pattern. */
const attacks = [
  "' || nextval('drawn') || '",
  "'; SELECT nextval('drawn'); --",
  '" ORDER BY nextval(\'drawn\'), "',
  "1; SELECT nextval('drawn'), pg_sleep(60)",
  "$$; SELECT nextval('drawn'); $$",
  "{\"a', nextval('drawn')::text)}",
  "%' ESCAPE '' OR nextval('drawn') > 0 OR '%",
  "x' & nextval('drawn')::text::tsquery | 'x:*",
  '%s %I %L $1 $2 :name ? ?? \\x27',
];

let world: AccessWorld;
let asked = 0;

beforeAll(async () => {
  world = await startAccessWorld();
  await sql(world.database.db, 'CREATE SEQUENCE drawn');
});
afterAll(() => world.close());

async function send(
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: string,
): Promise<number> {
  asked += 1;
  const address = { 'X-Forwarded-For': `198.18.${asked >> 8}.${asked & 255}` };
  // Waits for the end of a chat turn, because the next question belongs to another request.
  const endless = /^\/(sse|api\/logs\/stream)/.test(path);
  const request = { method, path, headers: { ...address, ...headers }, endless };
  const { status } = await ask(
    world.server.url,
    body === undefined ? request : { ...request, body },
  );
  return status;
}

/** Scripts an answer of the model for each question. */
function answerAlways(): void {
  scriptChat(world.gateway, ...new Array(100).fill({ text: ['Yes.'] }));
}

const table = readAccessTable();

/** Headers that give access to a route. */
function headersFor(path: string): Record<string, string> {
  const row = table.find((it) => it.path === path || it.path === `/observatory${path}`);
  const caller = callers.findLast((it) => row?.access[it] === 'yes') ?? 'nobody';
  return world.ways[caller][0]?.headers ?? {};
}

/** Bodies with an attack as a field, or in a list or object where a text is expected. */
function withAttack(body: object, attack: string): string[] {
  return Object.keys(body).flatMap((field) => {
    const values = attack === attacks[0] ? [attack, [attack], { [attack]: attack }] : [attack];
    return values.map((value) => JSON.stringify({ ...body, [field]: value }));
  });
}

const named = allRoutes.map(
  (route) => [`${route.method.toUpperCase()} ${route.path}`, route] as const,
);

describe.each(named)('%s', (_name, route) => {
  it('runs no SQL of its caller', async () => {
    const method = route.method.toUpperCase();
    const headers = headersFor(route.path);
    const faults: string[] = [];
    const note = async (what: string, sent: Promise<number>) => {
      const status = await sent;
      // Unavailable services answer 503, but the database is available.
      if (status >= 500) faults.push(`${what}: ${status}`);
    };
    const made = await makeRequest(world, method, route.path);
    if (route.path.startsWith('/chat')) answerAlways();
    const [path = '', query = ''] = made.path.split('?');
    const fields = Object.keys(route.query?.shape ?? {});
    for (const attack of attacks) {
      const text = encodeURIComponent(attack);
      if (route.params)
        await note(attack, send(method, route.path.replace(/:\w+/g, text), headers));
      for (const field of fields) {
        const others = new URLSearchParams(query);
        others.set(field, attack);
        await note(
          `${field}=${attack}`,
          send(method, `${path}?${others}`, { ...made.headers, ...headers }, made.body),
        );
      }
      const encoding = made.headers?.['Content-Type'] ?? '';
      const bodies =
        encoding === 'application/json' ? withAttack(JSON.parse(made.body ?? '{}'), attack) : [];
      for (const body of bodies)
        await note(body, send(method, made.path, { ...made.headers, ...headers }, body));
    }
    const hostile = { 'Last-Event-ID': attacks[3] ?? '', 'X-Request-ID': attacks[1] ?? '' };
    await note(
      'headers',
      send(method, made.path, { ...made.headers, ...headers, ...hostile }, made.body),
    );
    await made.done?.();
    expect(faults).toEqual([]);
  });
});

it('POST /auth/login runs no SQL of its caller', async () => {
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
  for (const attack of attacks.slice(0, 4)) {
    const body = new URLSearchParams({ username: attack, password: attack }).toString();
    expect(await send('POST', '/auth/login', form, body)).toBe(401);
  }
});

const withArguments = tools.map((tool) => {
  const { properties = {} } = describeTool(tool).inputSchema as { properties?: object };
  return [tool.name, Object.keys(properties)] as const;
});

it.each(withArguments)('the tool %s runs no SQL of its caller', async (name, fields) => {
  const [way] = world.ways.mcp;
  for (const attack of attacks) {
    // Attacks all arguments at once, and each one with the others valid.
    const calls = [fields, ...fields.map((field) => [field])].map((attacked) =>
      Object.fromEntries(
        fields.map((field) => [field, attacked.includes(field) ? attack : 'ada/app']),
      ),
    );
    for (const args of calls) {
      const params = { name, arguments: args };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
      expect(await send('POST', '/mcp', { ...asMessage, ...way?.headers }, body)).toBe(200);
    }
  }
});

it('text that looks like Postgres query syntax can be searched for', async () => {
  const [way] = world.ways.user;
  const headers = { ...way?.headers, 'Content-Type': 'application/json' };
  for (const query of [
    ...attacks,
    'a & | ! ( )',
    'a:*',
    '<->',
    "'",
    '\\',
    'a <0> b',
    '""',
    '- or -',
  ]) {
    const body = JSON.stringify({ query });
    expect({ query, status: await send('POST', '/search', headers, body) }).toEqual({
      query,
      status: 200,
    });
  }
});

it('the sequence has not advanced, and every table still exists', async () => {
  const { db } = world.database;
  const [drawn] = await sql<{ is_called: boolean }>(db, 'SELECT is_called FROM drawn');
  expect(drawn).toEqual({ is_called: false });
  const rows = await sql<{ runs: string }>(db, 'SELECT count(*)::text AS runs FROM backup_runs');
  expect(rows).toEqual([{ runs: '1' }]);
});

it('an advanced sequence would be detected', async () => {
  const { db } = world.database;
  await sql(db, "SELECT nextval('drawn')");
  expect(await sql(db, 'SELECT is_called FROM drawn')).toEqual([{ is_called: true }]);
});

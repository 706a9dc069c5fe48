import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allRoutes } from '../../scripts/build/openapi.ts';
import { type AccessRow, callers, readAccessTable } from '../../scripts/tables/access-table.ts';
import { type AccessRequest, MARK, makeRequest } from './access-requests.ts';
import { type AccessWorld, startAccessWorld } from './access-world.ts';
import { ask, type PlainAnswer } from './ask.ts';
import type { Way } from './ways.ts';

// Checks every cell of the access table against the whole server.

const PREFIX = '/observatory';
const table = readAccessTable();
const isObservatory = ({ path }: { path: string }) => path.startsWith(`${PREFIX}/`);
/** /ready without the prefix is the service API's. */
const isOnlyPrefixed = ({ path }: { path: string }) => path === `${PREFIX}/ready`;
const barePath = (row: { path: string }) =>
  isObservatory(row) && !isOnlyPrefixed(row) ? row.path.slice(PREFIX.length) : row.path;

let world: AccessWorld;
let asked = 0;

beforeAll(async () => {
  world = await startAccessWorld();
});
afterAll(() => world.close());

/** Sends one request, from a separate address so that no limit is reached. */
function send(
  method: string,
  request: Pick<AccessRequest, 'path' | 'headers' | 'body' | 'endless'>,
  way: Pick<Way, 'headers' | 'query'> = { headers: {} },
): Promise<PlainAnswer> {
  asked += 1;
  const query = new URLSearchParams(way.query).toString();
  const { path, headers, body, endless = false } = request;
  return ask(world.server.url, {
    method,
    path: query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`,
    headers: {
      'X-Forwarded-For': `198.18.${asked >> 8}.${asked & 255}`,
      ...headers,
      ...way.headers,
    },
    ...(body === undefined || method === 'HEAD' ? {} : { body }),
    endless,
  });
}

const challenges: Record<string, RegExp> = {
  observatory: /^Bearer realm="observatory"(, error="invalid_token")?$/,
  others: /^Bearer realm=backup-api$/,
};

/** Sends requests as every caller, in every way, and returns the responses that differ from the table. */
async function tryCallers(row: AccessRow, method: string, make: () => Promise<AccessRequest>) {
  const made = [await make()];
  const faults: string[] = [];
  let isUsed = false;
  const isPublic = callers.every((caller) => row.access[caller] === 'yes');
  for (const caller of callers) {
    const expected = row.access[caller];
    // Public routes ignore credentials, so one request per caller is enough.
    for (const way of world.ways[caller].slice(0, isPublic ? 1 : undefined)) {
      // An accepted request may use up what it names.
      if (isUsed && expected === 'yes') made.push(await make());
      isUsed ||= expected === 'yes';
      const request = made.at(-1) as AccessRequest;
      const status = expected === 'yes' ? request.answers : Number(expected);
      const answer = await send(method, request, way);
      const challenge = challenges[isObservatory(row) ? 'observatory' : 'others'];
      const isChallenged = challenge?.test(answer.headers['www-authenticate'] ?? '') ?? false;
      if (answer.status !== status || isChallenged !== (status === 401)) {
        faults.push(`${caller}, ${way.name}: ${answer.status} instead of ${status}`);
      }
      if (caller !== 'user' && answer.text.includes(MARK)) {
        faults.push(`${caller}, ${way.name}: is shown what is the user's`);
      }
      const shared = Object.keys(answer.headers).filter((name) =>
        name.startsWith('access-control'),
      );
      if (shared.length > 0) faults.push(`${caller}, ${way.name}: ${shared}`);
    }
  }
  for (const { done } of made) await done?.();
  return faults;
}

const named = (rows: readonly AccessRow[]) =>
  rows.map((row) => [`${row.method} ${row.path}`, row] as const);

describe.each(named(table))('%s', (_name, row) => {
  it('lets in whom the table says', async () => {
    const make = async () => {
      const request = await makeRequest(world, row.method, barePath(row));
      return isOnlyPrefixed(row) ? { ...request, path: row.path } : request;
    };
    expect(await tryCallers(row, row.method, make)).toEqual([]);
  });
});

describe.each(named(table.filter((row) => isObservatory(row) && !isOnlyPrefixed(row))))(
  '%s, with the prefix',
  (_name, row) => {
    it('lets in whom the table says', async () => {
      const make = async () => {
        const request = await makeRequest(world, row.method, barePath(row));
        return { ...request, path: `${PREFIX}${request.path}` };
      };
      expect(await tryCallers(row, row.method, make)).toEqual([]);
    });
  },
);

describe('the access table', () => {
  const rows = table.map((row) => `${row.method} ${barePath(row)}`).sort();

  it('lists exactly the declared routes', () => {
    const names = allRoutes.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    expect(rows).toEqual(names.sort());
  });

  it('lists exactly the routes of /openapi.json', async () => {
    const { text } = await send('GET', { path: '/openapi.json' });
    const { paths } = JSON.parse(text) as { paths: Record<string, Record<string, unknown>> };
    const described = Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item)
        .filter((key) => key !== 'servers')
        .map((method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`),
    );
    expect(described.sort()).toEqual(rows);
  });

  it('agrees with the security requirements of /openapi.json', async () => {
    const { text } = await send('GET', { path: '/openapi.json' });
    const { paths } = JSON.parse(text) as {
      paths: Record<string, Record<string, { security: Record<string, unknown>[] }>>;
    };
    const schemes: Record<string, string> = {
      InternalSecret: 'internal',
      InternalBearer: 'internal',
      CronBearer: 'cron',
      McpBearer: 'mcp',
      UserToken: 'user',
      UserCookie: 'user',
    };
    for (const row of table) {
      const path = barePath(row).replace(/:(\w+)/g, '{$1}');
      const { security = [] } = paths[path]?.[row.method.toLowerCase()] ?? {};
      const allowed = new Set(security.flatMap(Object.keys).map((scheme) => schemes[scheme]));
      const expected = callers.filter((it) => it !== 'other' && row.access[it] === 'yes');
      const isPublic = row.access.nobody === 'yes';
      expect([...allowed].sort(), path).toEqual(isPublic ? [] : expected.sort());
    }
  });
});

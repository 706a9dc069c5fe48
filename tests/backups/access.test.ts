import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { backupsEndpoints } from '../../lib/backups/backups-endpoints.ts';
import type { Database } from '../../lib/database/database.ts';
import type { Route } from '../../lib/http/route.ts';
import { createClient } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { withSecret } from '../support/deps.ts';
import { downDatabaseWords, openDownDatabase } from '../support/down-database.ts';
import { observatoryEnvironment } from '../support/observatory-client.ts';

// Requests every route of the table while the database is down.

const routes = backupsEndpoints.map(({ route }) => route);
const named = (list: readonly Route[]) =>
  list.map((route) => [`${route.method.toUpperCase()} ${route.path}`, route] as const);
const pathOf = (route: Route) => {
  const [, query = ''] = Object.entries(queries).find(([path]) => route.path.endsWith(path)) ?? [];
  return route.path.replace(/:\w+/g, '1') + query;
};
const queries = {
  '/archive/file': '?path=a',
  '/schedules/preview': '?timing=6h',
  '/compare/file': '?path=a',
  '/api/evidence': '?from=2026-01-01&to=2026-02-01',
};
const { CREDENTIALS_ENCRYPTION_KEY } = observatoryEnvironment;
const environment = { CREDENTIALS_ENCRYPTION_KEY };
const inHours = (hours: number) =>
  new Date(createTestClock().now() + hours * 3_600_000).toISOString();
const objective = { name: 'All', patterns: ['*'], rpo_hours: 24 };
const bodies: Record<string, unknown> = {
  'post /api/fixes': { title: 'Fixed', description: 'It was down.' },
  'post /api/anomalies/confirm': { ids: [1] },
  'post /api/badges': {},
  'put /api/quiet-hours': { from: '22:00', to: '07:00', time_zone: 'Europe/Berlin' },
  'post /api/schedules': { timing: 'daily at 02:30' },
  'patch /api/schedules/:id': { is_paused: true },
  'put /api/digest': { every: 'daily', at: '08:00', time_zone: 'Europe/Berlin' },
  'post /api/mutes': { scope: 'all', until: inHours(1) },
  'post /api/maintenance': { note: 'Disks', starts_at: inHours(1), ends_at: inHours(2) },
  'post /api/restores': { repository: 'ada/app' },
  'post /api/status-page': { title: 'Status', shows: [{ label: 'All', repositories: ['*'] }] },
  'post /api/objectives': objective,
  'put /api/objectives/:id': objective,
  'post /api/repos/forget': { names: ['ada/app'] },
};
const bodyOf = ({ method, path }: Route) => bodies[`${method} ${path}`];
// This server has no machine to restore on or to try sources from, and says so first.
const isOfMachine = ({ method, path }: Route) =>
  ['post /api/restores', 'post /api/sources', 'post /api/sources/try'].includes(
    `${method} ${path}`,
  );
const needsDatabase = (route: Route) =>
  /^\/(api|badges|status)\//.test(route.path) &&
  route.path !== '/api/schedules/preview' &&
  !isOfMachine(route);

let down: Database;

beforeAll(async () => {
  down = await openDownDatabase();
});
afterAll(() => down.close());

describe.each(named(routes.filter(({ access }) => access !== 'public')))('%s', (_name, route) => {
  const wrong: [string, Record<string, string>][] = [
    ['no secret', {}],
    ['a wrong secret', { 'X-Internal-Secret': 'wrong' }],
    ['a wrong bearer', { Authorization: 'Bearer wrong' }],
    ['an empty secret', { 'X-Internal-Secret': '', Authorization: 'Bearer ' }],
  ];

  it.each(wrong)('returns 401 to %s', async (_case, headers) => {
    const client = createClient({ db: down });
    const answer = await client.send(route.method.toUpperCase(), pathOf(route), headers);
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm=backup-api');
    expect(answer.body).toMatchObject({ success: false, error: { code: 'UNAUTHORIZED' } });
  });

  it('checks the secret before the parameters', async () => {
    const path = `${route.path.replace(/:\w+/g, 'x')}?page=x&days=x&format=x`;
    const client = createClient({ db: down });
    expect((await client.send(route.method.toUpperCase(), path, {})).status).toBe(401);
  });

  it('returns 503 when no usable secret is configured', async () => {
    const client = createClient({ db: down, environment: { INTERNAL_SECRET: 'too short' } });
    const secret = { 'X-Internal-Secret': 'too short' };
    const { status } = await client.send(route.method.toUpperCase(), pathOf(route), secret);
    expect(status).toBe(503);
  });
});

describe.each(named(routes.filter(needsDatabase)))('%s without its database', (_name, route) => {
  it('returns 503 without details from the driver', async () => {
    const client = createClient({ db: down, environment });
    // The sweep does not query an unused database.
    client.deps.db.query({ text: 'SELECT 1' }).catch(() => undefined);
    const [method, path] = [route.method.toUpperCase(), pathOf(route)];
    const answer = await client.send(method, path, withSecret, bodyOf(route));
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(answer.body).toMatchObject({
      success: false,
      error: { code: 'SERVICE_UNAVAILABLE', request_id: answer.headers.get('x-request-id') },
    });
    expect(answer.text).not.toMatch(downDatabaseWords);
  });
});

describe.each(named(routes.filter((route) => !needsDatabase(route) && !isOfMachine(route))))(
  '%s without its database',
  (_name, route) => {
    it('still works', async () => {
      const { status } = await createClient({ db: down }).get(pathOf(route), withSecret);
      expect(status).toBe(route.path.startsWith('/ready') ? 503 : 200);
    });
  },
);

describe.each(named(routes.filter(({ access }) => access === 'public')))('%s', (_name, route) => {
  it('is public', async () => {
    expect((await createClient({ db: down }).get(route.path, {})).status).not.toBe(401);
  });
});

describe('API_REQUIRE_AUTH=false', () => {
  const environment = { API_REQUIRE_AUTH: 'false', INTERNAL_SECRET: undefined };

  it.each(named(routes.filter(({ access }) => access === 'internal')))(
    'opens %s',
    async (_name, route) => {
      const { status } = await createClient({ db: down, environment }).get(pathOf(route), {});
      expect(status).toBe(needsDatabase(route) ? 503 : 200);
    },
  );

  it('logs a warning once, when the app is created', () => {
    const { deps } = createClient({ db: down, environment });
    expect(deps.logged.filter(({ level }) => level === 'warn')).toMatchObject([
      { message: expect.stringContaining('API_REQUIRE_AUTH') },
    ]);
  });
});

it('returns 401 for an unknown path under /api without the secret', async () => {
  expect((await createClient({ db: down }).get('/api/nope', {})).status).toBe(401);
});

it('checks the rate limit before the secret', async () => {
  const client = createClient({ db: down });
  for (let n = 0; n < 100; n++) await client.get('/api/nope', {});
  expect((await client.get('/api/backups', {})).status).toBe(429);
  expect((await client.get('/health', {})).status).toBe(200);
});

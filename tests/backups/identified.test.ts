import { describe, expect, it } from 'vitest';
import { backupsEndpoints } from '../../lib/backups/backups-endpoints.ts';
import { type Client, createClient } from '../support/client.ts';
import { withSecret } from '../support/deps.ts';
import { openDownDatabase } from '../support/down-database.ts';
import { useDatabase } from '../support/hooks.ts';
import {
  ADA,
  createObservatoryClient,
  observatoryEnvironment,
  signToken,
} from '../support/observatory-client.ts';

// Routes that need a credential even with API_REQUIRE_AUTH=false, and changes by session cookie.

const open = { ...observatoryEnvironment, API_REQUIRE_AUTH: 'false' };
const routes = backupsEndpoints
  .map(({ route }) => route)
  .filter(({ access }) => access === 'identified' || access === 'administrator')
  .map(({ method, path }) => [method.toUpperCase(), path.replace(/:(\w+)/g, '1')] as const);

const database = useDatabase();

const start = (environment: Record<string, string> = open) =>
  createClient({ db: database.db, environment });
const tokenOf = async (client: Client, claims = {}) => ({
  Authorization: `Bearer ${await signToken(client.deps, ADA.username, { claims })}`,
});
const request = { reason: 'a test' };
const ask = async (client: Client, headers: Record<string, string>) =>
  (await client.post('/api/run-requests', request, headers)).status;

describe('API_REQUIRE_AUTH=false', () => {
  it.each(routes)('does not open %s %s', async (method, path) => {
    const client = start();
    const answer = await client.send(method, path, {});
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm=backup-api');
    expect((await client.send(method, path, { Authorization: 'Bearer x' })).status).toBe(401);
    expect((await client.get('/api/backups', {})).status).toBe(200);
  });

  it('still lets users and callers with the internal secret make changes', async () => {
    const client = start();
    expect(await ask(client, withSecret)).toBe(201);
    expect(await ask(client, await tokenOf(client))).toBe(200);
    expect(await ask(client, await tokenOf(client, { exp: 1 }))).toBe(401);
  });

  it('lets nobody make changes if neither a secret nor users are configured', async () => {
    const client = start({ API_REQUIRE_AUTH: 'false', INTERNAL_SECRET: '' });
    expect(await ask(client, {})).toBe(401);
    expect(await ask(client, withSecret)).toBe(401);
  });

  it('answers 503 when a user cannot be looked up', async () => {
    const db = await openDownDatabase();
    const client = createClient({ db, environment: open });
    const Authorization = `Bearer ${await signToken(client.deps, 'grace')}`;
    expect(await ask(client, { Authorization })).toBe(503);
    await db.close();
  });
});

describe.each([
  ['true', observatoryEnvironment],
  ['false', open],
])('a session cookie, with API_REQUIRE_AUTH=%s', (_name, environment) => {
  it('allows changes only from a page of this server', async () => {
    const client = start(environment as Record<string, string>);
    const { deps } = createObservatoryClient({ db: database.db });
    const Cookie = `backup-observatory=${await signToken(deps, ADA.username)}`;
    expect(await ask(client, { Cookie })).toBe(403);
    expect(await ask(client, { Cookie, 'Sec-Fetch-Site': 'none' })).toBe(403);
    expect(await ask(client, { Cookie, 'Sec-Fetch-Site': 'same-site' })).toBe(403);
    expect(await ask(client, { Cookie, 'Sec-Fetch-Site': 'cross-site' })).toBe(403);
    expect(await ask(client, { Cookie, 'Sec-Fetch-Site': 'same-origin' })).toBeLessThan(300);
  });
});

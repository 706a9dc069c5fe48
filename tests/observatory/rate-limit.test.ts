import { beforeAll, describe, expect, it } from 'vitest';
import { hashPassword } from '../../lib/security/password.ts';
import { addUser } from '../../lib/users/users.ts';
import { downDatabaseWords, openDownDatabase } from '../support/down-database.ts';
import { useDatabase } from '../support/hooks.ts';
import {
  ADA,
  createObservatoryClient,
  type ObservatoryRequest,
} from '../support/observatory-client.ts';
import { QUICK_COST } from '../support/passwords.ts';

const database = useDatabase();
beforeAll(async () => {
  await addUser(database.db, 'grace', await hashPassword('the password of grace', QUICK_COST));
});

const createClient = (environment = {}) =>
  createObservatoryClient({ db: database.db, environment });
type Client = ReturnType<typeof createClient>;

/** How many of `times` requests are not rejected by the rate limit. */
async function served(client: Client, times: number, request: ObservatoryRequest = {}) {
  let count = 0;
  for (let n = 0; n < times; n += 1) {
    if ((await client.get('/auth/me', request)).status !== 429) count += 1;
  }
  return count;
}

describe('a user with a token', () => {
  it('may send 600 requests a minute, from any addresses', async () => {
    const client = createClient();
    const token = await client.signToken(ADA.username);
    const { headers } = await client.get('/auth/me', { token });
    expect(headers.get('RateLimit-Limit')).toBe('600');
    expect(await served(client, 300, { token, peer: '198.51.100.1' })).toBe(300);
    expect(await served(client, 305, { token, peer: '198.51.100.2' })).toBe(299);
    client.deps.clock.advance(60_000);
    expect(await served(client, 1, { token })).toBe(1);
  });

  it('may send USER_MAX_REQUESTS_PER_MINUTE requests a minute', async () => {
    const client = createClient({ USER_MAX_REQUESTS_PER_MINUTE: '7' });
    expect(await served(client, 10)).toBe(7);
  });

  it('does not use up the limit of another user at the same address', async () => {
    const client = createClient();
    await served(client, 601, { token: await client.signToken(ADA.username) });
    expect(await served(client, 1, { token: await client.signToken('grace') })).toBe(1);
    expect((await client.login(ADA.username, ADA.password)).status).toBe(200);
  });

  it('is served although other clients at the address have reached their limit', async () => {
    const client = createClient();
    expect(await served(client, 105, { token: null })).toBe(100);
    expect(await served(client, 1)).toBe(1);
  });
});

describe('the limit of 100 requests a minute for each address', () => {
  it.each<[string, (client: Client) => Promise<string | null>]>([
    ['that have no token', async () => null],
    [
      'whose token is signed with another key',
      (client) => client.signToken(ADA.username, { secret: 'x'.repeat(40) }),
    ],
    ["whose token is an unknown user's", (client) => client.signToken('nobody')],
  ])('applies to requests %s', async (_name, tokenOf) => {
    const client = createClient();
    const token = await tokenOf(client);
    expect(await served(client, 105, { token })).toBe(100);
    expect(await served(client, 1, { token, peer: '198.51.100.1' })).toBe(1);
  });

  it('applies to logins', async () => {
    const client = createClient();
    const post = () => client.send('POST', '/auth/login', { token: null, form: {} });
    for (let n = 0; n < 100; n += 1) expect((await post()).status).toBe(400);
    expect((await post()).status).toBe(429);
  });

  it('applies when the user cannot be checked because the database is down', async () => {
    const down = await openDownDatabase();
    const client = createObservatoryClient({ db: down });
    const token = await client.signToken('grace');
    expect(await served(client, 105, { token })).toBe(100);
    const answer = await client.get('/auth/me', { token });
    expect(answer.text).not.toMatch(downDatabaseWords);
    await down.close();
  });
});

describe('a page of another site', () => {
  const pages = [{ 'Sec-Fetch-Site': 'cross-site' }, { Origin: 'https://evil.example' }];

  it.each(pages)('does not lock its visitor out by logins, %j', async (headers) => {
    const client = createClient();
    for (let n = 0; n < 120; n += 1) {
      expect((await client.login(ADA.username, 'wrong', { headers })).status).toBe(403);
    }
    expect((await client.login(ADA.username, ADA.password)).status).toBe(200);
  });

  it.each(pages)('may not act in the name of a user, %j', async (headers) => {
    const { status, body } = await createClient().post('/search', { query: 'x' }, { headers });
    expect([status, body.error.code]).toEqual([403, 'FORBIDDEN']);
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import type { Route } from '../../lib/http/route.ts';
import { observatoryEndpoints } from '../../lib/observatory/observatory-endpoints.ts';
import { hashPassword } from '../../lib/security/password.ts';
import { addUser, changePassword, removeUser } from '../../lib/users/users.ts';
import { createPostgres, type TestDatabase } from '../support/databases.ts';
import { TEST_SECRET } from '../support/deps.ts';
import { downDatabaseWords, openDownDatabase } from '../support/down-database.ts';
import {
  ADA,
  createObservatoryClient,
  type ObservatoryClient,
  type TokenChanges,
} from '../support/observatory-client.ts';
import { QUICK_COST } from '../support/passwords.ts';
import { sql } from '../support/records.ts';

// Authentication and input checks of every route, all by the same tests.

const routes = observatoryEndpoints.map(({ route }) => route);
const guarded = routes.filter(({ access }) => access === 'user');
const nameOf = (route: Route) => `${route.method.toUpperCase()} ${route.path}`;
const named = (list: readonly Route[]) => list.map((route) => [nameOf(route), route] as const);
const pathOf = (route: Route) => route.path.replace(':id', '6f3c2f1e-0c5a-4b7d-9a53-3f1f7f1d2c11');

let down: Database;
let database: TestDatabase;

beforeAll(async () => {
  [down, database] = await Promise.all([openDownDatabase(), createPostgres()]);
});
afterAll(() => Promise.all([down.close(), database.close()]));

/** Tokens that belong to nobody, each with what is wrong with it. */
const wrongTokens: [string, (client: ObservatoryClient) => Promise<string | null>][] = [
  ['no token', async () => null],
  ['text that is not a token', async () => 'nonsense'],
  ['the internal secret', async () => TEST_SECRET],
  ['a token signed with another key', (client) => sign(client, { secret: 'x'.repeat(40) })],
  ['an expired token', (client) => sign(client, { claims: { exp: seconds(client) - 1 } })],
  ['a token without exp', (client) => sign(client, { claims: { exp: undefined } })],
  ['a token without iss', (client) => sign(client, { claims: { iss: undefined } })],
  ['a token from another issuer', (client) => sign(client, { claims: { iss: 'other' } })],
  ['a token without aud', (client) => sign(client, { claims: { aud: undefined } })],
  ['a token for another audience', (client) => sign(client, { claims: { aud: 'other' } })],
  ['a token without sub', (client) => sign(client, { claims: { sub: undefined } })],
  ['a token with a numeric sub', (client) => sign(client, { claims: { sub: 5 } })],
  [
    'a token that is not valid yet',
    (client) => sign(client, { claims: { nbf: seconds(client) + 60 } }),
  ],
  ['a token signed with HS512', (client) => sign(client, { algorithm: 'HS512' })],
  ['a token with alg none', async (client) => unsigned(client)],
  ['a token of an unknown user', (client) => client.signToken('nobody')],
];

function sign(client: ObservatoryClient, changes: TokenChanges) {
  return client.signToken(ADA.username, changes);
}

function seconds({ deps }: ObservatoryClient): number {
  return Math.floor(deps.clock.now() / 1000);
}

async function unsigned(client: ObservatoryClient): Promise<string> {
  const [, claims] = (await client.signToken(ADA.username)).split('.');
  const header = Buffer.from(JSON.stringify({ alg: 'none', typ: 'JWT' })).toString('base64url');
  return `${header}.${claims}.`;
}

describe.each(named(guarded))('%s', (_name, route) => {
  it.each(wrongTokens)('answers 401 to %s, before it reads the input', async (_case, tokenOf) => {
    const client = createObservatoryClient({ db: database.db });
    const path = `${pathOf(route)}?limit=x&page=x`;
    const token = await tokenOf(client);
    const answer = await client.send(route.method.toUpperCase(), path, { token });
    expect(answer.status).toBe(401);
    expect(answer.body).toMatchObject({ success: false, error: { code: 'UNAUTHORIZED' } });
    expect(answer.headers.get('www-authenticate')).toBe(
      token === null
        ? 'Bearer realm="observatory"'
        : 'Bearer realm="observatory", error="invalid_token"',
    );
  });

  it('also works with the /observatory prefix', async () => {
    const client = createObservatoryClient({ db: database.db });
    const path = `/observatory${pathOf(route)}`;
    const answer = await client.send(route.method.toUpperCase(), path, { token: null });
    expect(answer.status).toBe(401);
    const { status } = await client.send(route.method.toUpperCase(), path);
    expect(status).not.toBe(401);
  });

  it('answers 503 while JWT_SECRET is unset', async () => {
    const client = createObservatoryClient({ db: down, environment: { JWT_SECRET: undefined } });
    const { status, body } = await client.send(route.method.toUpperCase(), pathOf(route));
    expect(status).toBe(503);
    expect(body).toMatchObject({ error: { code: 'SERVICE_UNAVAILABLE' } });
  });

  it('answers 503 without driver details when the user cannot be checked', async () => {
    const client = createObservatoryClient({ db: down });
    const token = await client.signToken('grace');
    const answer = await client.send(route.method.toUpperCase(), pathOf(route), { token });
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(answer.body).toMatchObject({ error: { code: 'SERVICE_UNAVAILABLE' } });
    expect(answer.text).not.toMatch(downDatabaseWords);
  });
});

describe.each(named(guarded.filter(({ body }) => body?.encoding === 'json')))(
  '%s',
  (_name, route) => {
    it.each([
      ['text that is not JSON', '{', 'application/json'],
      ['JSON that is not an object', '[1]', 'application/json'],
      ['a NUL character', '{"session_name":"\\u0000","query":"\\u0000"}', 'application/json'],
      ['a form', 'a=b', 'application/x-www-form-urlencoded'],
    ])('answers 400 to %s and names the field', async (_case, body, type) => {
      const client = createObservatoryClient({ db: database.db });
      const token = await client.signToken(ADA.username);
      const request = { token, text: body, headers: { 'Content-Type': type } };
      const answer = await client.send(route.method.toUpperCase(), pathOf(route), request);
      expect(answer.status).toBe(400);
      expect(answer.body.error).toMatchObject({ code: 'VALIDATION_ERROR' });
      expect(answer.body.error.details.length).toBeGreaterThan(0);
    });
  },
);

it.each([
  ['a NUL in its sub', { sub: 'gr\0ce' }],
  ['a NUL in its sub and a login', { sub: 'gr\0ce', cred: 'x' }],
  ['an iat before all time', { sub: 'grace', iat: -1e300 }],
  ['an iat after all time', { sub: 'grace', iat: 1e300 }],
])('rejects a token with %s, which the database cannot store, with 401', async (_case, claims) => {
  const client = createObservatoryClient({ db: database.db });
  const token = await sign(client, { claims });
  expect((await client.get('/auth/me', { token })).status).toBe(401);
});

describe('a user in the table', () => {
  it('is admitted until removed, and a new user of that name does not revive the old token', async () => {
    const client = createObservatoryClient({ db: database.db });
    await addUser(database.db, 'grace', await hashPassword('the password of grace', QUICK_COST));
    await sql(database.db, `UPDATE users SET created_at = '2026-03-04T05:00:00Z'`);
    const token = await client.signToken('grace');
    expect((await client.get('/auth/me', { token })).body.data).toMatchObject({
      username: 'grace',
    });

    await removeUser(database.db, 'grace');
    expect((await client.get('/auth/me', { token })).status).toBe(401);

    await addUser(database.db, 'grace', await hashPassword('another password', QUICK_COST));
    await sql(database.db, `UPDATE users SET created_at = '2026-03-04T06:00:00Z'`);
    expect((await client.get('/auth/me', { token })).status).toBe(401);
    client.deps.clock.advance(3_600_000);
    const anew = await client.signToken('grace');
    expect((await client.get('/auth/me', { token: anew })).status).toBe(200);
  });

  it('loses every token of a login when somebody else gets the name', async () => {
    const client = createObservatoryClient({ db: database.db });
    const password = 'the password of barbara';
    await addUser(database.db, 'barbara', await hashPassword(password, QUICK_COST));
    const { access_token: token } = (await client.login('barbara', password)).body;
    expect((await client.get('/auth/me', { token })).status).toBe(200);
    await removeUser(database.db, 'barbara');
    await addUser(database.db, 'barbara', await hashPassword(password, QUICK_COST));
    expect((await client.get('/auth/me', { token })).status).toBe(401);
  });

  it('loses every token of a login when AUTH_USERNAME takes the name', async () => {
    const client = createObservatoryClient({ db: database.db });
    await addUser(database.db, 'tony', await hashPassword('the password of tony', QUICK_COST));
    const { access_token: token } = (await client.login('tony', 'the password of tony')).body;
    const environment = { AUTH_USERNAME: 'tony' };
    const taken = createObservatoryClient({ db: database.db, environment });
    expect((await taken.get('/auth/me', { token })).status).toBe(401);
    const own = (await taken.login('tony', ADA.password)).body.access_token;
    expect((await taken.get('/auth/me', { token: own })).status).toBe(200);
  });

  it('loses every token of a login when the password changes', async () => {
    const client = createObservatoryClient({ db: database.db });
    await addUser(database.db, 'edsger', await hashPassword('the first password', QUICK_COST));
    const { access_token: token } = (await client.login('edsger', 'the first password')).body;
    expect((await client.get('/auth/me', { token })).status).toBe(200);
    await changePassword(database.db, 'edsger', await hashPassword('another password', QUICK_COST));
    expect((await client.get('/auth/me', { token })).status).toBe(401);
    const anew = (await client.login('edsger', 'another password')).body.access_token;
    expect((await client.get('/auth/me', { token: anew })).status).toBe(200);
  });

  it('may have a token without an issue time', async () => {
    const client = createObservatoryClient({ db: database.db });
    await addUser(database.db, 'linus', await hashPassword('the password of linus', QUICK_COST));
    const token = await client.signToken('linus', { claims: { iat: undefined } });
    expect((await client.get('/auth/me', { token })).status).toBe(200);
  });
});

it('the observatory answers 401 to an unknown path without a token, and 404 with one', async () => {
  const client = createObservatoryClient({ db: database.db });
  for (const path of ['/observatory/nope', '/sessions/a/b/c', '/observatory/observatory/auth/me']) {
    expect((await client.get(path, { token: null })).status).toBe(401);
    expect((await client.get(path)).body.error.code).toBe('NOT_FOUND');
  }
});

it('the observatory answers 405 with the allowed methods', async () => {
  const client = createObservatoryClient({ db: database.db });
  const answer = await client.send('PUT', '/sessions');
  expect(answer.status).toBe(405);
  expect(answer.headers.get('allow')).toBe('GET, HEAD, POST');
});

it('the observatory limits requests by client address before it checks the token, except /observatory/ready', async () => {
  const client = createObservatoryClient({ db: down });
  for (let n = 0; n < 100; n += 1) await client.get('/observatory/nope', { token: null });
  const answer = await client.get('/auth/me', { token: null });
  expect(answer.body.error.code).toBe('RATE_LIMITED');
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await client.get('/auth/me', { peer: '192.0.2.2' })).status).toBe(200);
  expect((await client.get('/observatory/ready')).status).toBe(503);
});

it('the observatory answers 413 to a body above 1 MiB', async () => {
  const client = createObservatoryClient({ db: down });
  const { status, body } = await client.post('/sessions', { session_name: 'x'.repeat(2 ** 20) });
  expect(status).toBe(413);
  expect(body.error.code).toBe('PAYLOAD_TOO_LARGE');
});

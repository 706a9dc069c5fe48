import { jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { hashPassword, PASSWORD_COST } from '../../lib/security/password.ts';
import { addUser, findPasswordHash } from '../../lib/users/users.ts';
import { createPostgres, type TestDatabase } from '../support/databases.ts';
import { TEST_SECRET } from '../support/deps.ts';
import { downDatabaseWords, openDownDatabase } from '../support/down-database.ts';
import { ADA, createObservatoryClient, TEST_JWT_SECRET } from '../support/observatory-client.ts';
import { olderHash, QUICK_COST } from '../support/passwords.ts';

const GRACE = { username: 'grace', password: 'Ⅸ passwords of grace' };

let database: TestDatabase;
let down: Database;

beforeAll(async () => {
  [database, down] = await Promise.all([createPostgres(), openDownDatabase()]);
  await addUser(database.db, GRACE.username, await hashPassword(GRACE.password, QUICK_COST));
});
afterAll(() => Promise.all([database.close(), down.close()]));

const createClient = (environment = {}) =>
  createObservatoryClient({ db: database.db, environment });

describe('POST /auth/login', () => {
  it.each([
    ['the user of AUTH_USERNAME', ADA],
    ['a user of the table', GRACE],
  ])('gives %s a token with subject, issuer, audience and expiry', async (_case, user) => {
    const { login, deps, get } = createClient({ JWT_EXPIRES_MINUTES: '5' });
    const { status, body } = await login(user.username, user.password);
    expect(status).toBe(200);
    expect(body.token_type).toBe('bearer');
    const key = new TextEncoder().encode(TEST_JWT_SECRET);
    const currentDate = new Date(deps.clock.now());
    const { payload, protectedHeader } = await jwtVerify(body.access_token, key, { currentDate });
    const now = deps.clock.now() / 1000;
    expect(protectedHeader.alg).toBe('HS256');
    expect(payload).toEqual({
      sub: user.username,
      iss: 'backup',
      aud: 'backup',
      iat: now,
      exp: now + 300,
      ...(user === GRACE ? { cred: expect.stringMatching(/^[\w-]{22}$/) } : {}),
    });
    expect((await get('/auth/me', { token: body.access_token })).status).toBe(200);
  });

  it('gives a token that expires after JWT_EXPIRES_MINUTES', async () => {
    const { login, get, deps } = createClient({ JWT_EXPIRES_MINUTES: '5' });
    const { body } = await login(ADA.username, ADA.password);
    deps.clock.advance(5 * 60_000 - 1_000);
    expect((await get('/auth/me', { token: body.access_token })).status).toBe(200);
    deps.clock.advance(1_000);
    expect((await get('/auth/me', { token: body.access_token })).status).toBe(401);
  });

  it('takes JWT_ISSUER and JWT_AUDIENCE from the configuration', async () => {
    const own = createClient({ JWT_ISSUER: 'me', JWT_AUDIENCE: 'you' });
    const { body } = await own.login(ADA.username, ADA.password);
    expect((await own.get('/auth/me', { token: body.access_token })).status).toBe(200);
    expect((await createClient().get('/auth/me', { token: body.access_token })).status).toBe(401);
  });

  it('accepts a password in any Unicode composition', async () => {
    const { login } = createClient();
    expect((await login('grace', GRACE.password.normalize('NFKC'))).status).toBe(200);
    const configured = createClient({ AUTH_PASSWORD: 'Zoë’s password'.normalize('NFC') });
    const typed = 'Zoë’s password'.normalize('NFD');
    expect((await configured.login(ADA.username, typed)).status).toBe(200);
  });

  it.each([
    ['a wrong password', ADA.username, 'wrong'],
    ['a wrong password of a stored user', 'grace', ADA.password],
    ['an unknown user', 'nobody', ADA.password],
    ['a name in another case', 'ADA', ADA.password],
    ['a stored hash for a password', 'grace', 'scrypt$32768$8$1$AAAA$AAAA'],
  ])('gives the same 401 for %s', async (_case, username, password) => {
    const answer = await createClient().login(username, password);
    expect(answer.status).toBe(401);
    expect(answer.body.error).toEqual({
      code: 'UNAUTHORIZED',
      message: 'wrong user name or password',
    });
  });

  it('does not accept AUTH_USERNAME without AUTH_PASSWORD', async () => {
    const { login } = createClient({ AUTH_PASSWORD: undefined });
    expect((await login(ADA.username, 'undefined')).status).toBe(401);
  });

  it.each([
    ['no password', { username: 'ada' }],
    ['an empty name', { username: '', password: 'x' }],
    ['a password without end', { username: 'ada', password: 'x'.repeat(1025) }],
    ['a NUL character', { username: 'a\0', password: 'x' }],
  ])('answers 400 to %s and counts no failure', async (_case, form) => {
    const { send, login } = createClient({ LOGIN_MAX_FAILURES: '1' });
    const answer = await send('POST', '/auth/login', { token: null, form });
    expect(answer.status).toBe(400);
    expect(answer.body.error.code).toBe('VALIDATION_ERROR');
    expect((await login(ADA.username, ADA.password)).status).toBe(200);
  });

  it('answers 413 to a form above 8 KiB, without asking the database', async () => {
    const form = (size: number) => `username=ada&password=${'x'.repeat(size)}`;
    const send = (text: string) =>
      createObservatoryClient({ db: down }).send('POST', '/observatory/auth/login', {
        token: null,
        text,
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      });
    expect((await send(form(8 * 1024))).status).toBe(413);
    expect((await send(form(1024))).status).toBe(503);
  });

  it('answers 400 to JSON', async () => {
    const { post } = createClient();
    expect((await post('/auth/login', ADA, { token: null })).status).toBe(400);
  });

  it('answers 400 to a field that is given twice', async () => {
    const answer = await createClient().send('POST', '/auth/login', {
      token: null,
      text: 'username=ada&password=a&password=b',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    });
    expect(answer.body.error.details).toEqual([{ path: 'password', message: expect.any(String) }]);
  });

  it.each([ADA, GRACE, { username: 'nobody', password: 'x' }])(
    'answers 503, never 401, to $username while the database is down',
    async ({ username, password }) => {
      const { login } = createObservatoryClient({ db: down });
      for (let n = 0; n < 7; n += 1) {
        const answer = await login(username, password);
        expect(answer.status).toBe(503);
        expect(answer.text).not.toMatch(downDatabaseWords);
      }
    },
  );

  it('answers 503 without JWT_SECRET, and the log names the variable', async () => {
    const { login, deps } = createClient({ JWT_SECRET: undefined });
    expect((await login(ADA.username, ADA.password)).status).toBe(503);
    expect(deps.logged.map(({ message }) => message).join()).toContain('JWT_SECRET');
  });

  it.each([
    ['AUTH_USERNAME', ADA.username],
    ['a stored user', GRACE.username],
    ['an unknown user', 'nobody'],
  ])('runs the same queries for %s as for any other', async (_case, username) => {
    const asked: unknown[] = [];
    const db: Database = {
      ...database.db,
      query(statement, values, options) {
        asked.push(statement.name);
        return database.db.query(statement, values, options);
      },
    };
    await createObservatoryClient({ db }).login(username, 'wrong');
    expect(asked).toEqual(['find_password_hash']);
  });

  it("replaces an outdated hash after a login, and keeps the user's tokens valid", async () => {
    const old = olderHash('password of lin');
    await addUser(database.db, 'lin', old);
    const { login, get } = createObservatoryClient({
      db: database.db,
      passwordCost: PASSWORD_COST,
    });
    expect((await login('lin', 'wrong password')).status).toBe(401);
    expect(await findPasswordHash(database.db, 'lin')).toBe(old);
    const first = await login('lin', 'password of lin');
    expect(await findPasswordHash(database.db, 'lin')).toMatch(/^scrypt\$32768\$8\$3\$/);
    const second = await login('lin', 'password of lin');
    for (const { body } of [first, second]) {
      expect((await get('/auth/me', { token: body.access_token })).status).toBe(200);
    }
  });

  it('lets a user log in even if the new hash cannot be stored', async () => {
    await addUser(database.db, 'max', olderHash('password of max', { N: 1024 }));
    const db: Database = {
      ...database.db,
      query(statement, values, options) {
        if (statement.name === 'renew_password_hash') throw new Error('read-only');
        return database.db.query(statement, values, options);
      },
    };
    const { login, deps } = createObservatoryClient({ db, passwordCost: PASSWORD_COST });
    expect((await login('max', 'password of max')).status).toBe(200);
    expect(deps.logged).toMatchObject([{ level: 'warn', error: { message: 'read-only' } }]);
  });

  it('logs a failure without the name or the password', async () => {
    const { login, deps } = createClient();
    await login('a-name-that-may-be-a-password', 'a-wrong-guess');
    const text = JSON.stringify(deps.logged);
    expect(text).toContain('192.0.2.1');
    expect(text).not.toMatch(/a-name-that|a-wrong-guess/);
  });

  it('refuses logins when too many wait, and serves the waiting ones', async () => {
    // Slower than their arrival.
    const { login } = createObservatoryClient({
      db: database.db,
      environment: { LOGIN_MAX_FAILURES: '1000' },
      passwordCost: { ...PASSWORD_COST, p: 1 },
    });
    const answers = await Promise.all(
      Array.from({ length: 90 }, (_, n) => login('nobody', 'x', { peer: `198.51.100.${n}` })),
    );
    const statuses = answers.map(({ status }) => status);
    const refused = statuses.filter((status) => status === 503).length;
    // Two run and 64 wait; a few more are served when guesses end while others still arrive.
    expect(refused).toBeGreaterThan(0);
    expect(refused).toBeLessThanOrEqual(24);
    expect(statuses.filter((status) => status === 401)).toHaveLength(90 - refused);
    expect((await login(ADA.username, ADA.password)).status).toBe(200);
  });
});

describe('X-Client-Address', () => {
  const guess = (client: ReturnType<typeof createClient>, headers: Record<string, string>) =>
    client.login('nobody', 'x', { headers });

  async function countServed(headersOf: (n: number) => Record<string, string>) {
    const client = createClient();
    let served = 0;
    for (let n = 0; n < 7; n += 1) {
      if ((await guess(client, headersOf(n))).status === 401) served += 1;
    }
    return served;
  }

  it('is used for the count if X-Internal-Secret is valid', async () => {
    const headersOf = (n: number) => ({
      'X-Internal-Secret': TEST_SECRET,
      'X-Client-Address': `198.51.100.${n}`,
    });
    expect(await countServed(headersOf)).toBe(7);
    const same = { 'X-Internal-Secret': TEST_SECRET, 'X-Client-Address': '198.51.100.1' };
    expect(await countServed(() => same)).toBe(5);
  });

  it.each([
    ['without the secret', {}],
    ['with a wrong secret', { 'X-Internal-Secret': 'wrong' }],
  ])('is ignored %s', async (_case, headers) => {
    const headersOf = (n: number) => ({ ...headers, 'X-Client-Address': `198.51.100.${n}` });
    expect(await countServed(headersOf)).toBe(5);
  });

  it('is replaced by the peer if it is not an address', async () => {
    const headersOf = (n: number) => ({
      'X-Internal-Secret': TEST_SECRET,
      'X-Client-Address': `garbage ${n}`,
    });
    expect(await countServed(headersOf)).toBe(5);
  });
});

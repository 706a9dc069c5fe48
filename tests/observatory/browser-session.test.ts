import { describe, expect, it } from 'vitest';
import { hashPassword } from '../../lib/security/password.ts';
import { LoginCodes } from '../../lib/users/login-codes.ts';
import { addUser, changePassword } from '../../lib/users/users.ts';
import { createTestClock } from '../support/clock.ts';
import { useDatabase } from '../support/hooks.ts';
import {
  ADA,
  createObservatoryClient,
  type ObservatoryAnswer,
  type ObservatoryClient,
} from '../support/observatory-client.ts';

const database = useDatabase();

const createClient = (environment = {}, loginCodes?: LoginCodes) =>
  createObservatoryClient({
    db: database.db,
    environment,
    ...(loginCodes ? { loginCodes } : {}),
  });

const ofPage = { 'Sec-Fetch-Site': 'same-origin' };

function logIn(client: ObservatoryClient, json: unknown = ADA, headers = {}) {
  return client.post('/auth/session', json, { token: null, headers: { ...ofPage, ...headers } });
}

/** Name and value of the cookie that an answer sets. */
function cookieOf(answer: ObservatoryAnswer): string {
  return answer.headers.getSetCookie()[0]?.split(';')[0] ?? '';
}

const as = (cookie: string, headers: Record<string, string> = ofPage) => ({
  token: null,
  headers: { Cookie: cookie, ...headers },
});

describe('POST /auth/session', () => {
  it('sets a cookie that no script can read and no other site sends', async () => {
    const client = createClient({ JWT_EXPIRES_MINUTES: '5' });
    const answer = await logIn(client);
    expect(answer.status).toBe(200);
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^backup-observatory=[\w.-]+; Max-Age=300; Path=\/; HttpOnly; SameSite=Strict$/,
      ),
    ]);
    const expires_at = new Date(client.deps.clock.now() + 300_000).toISOString();
    expect(answer.body.data).toEqual({ username: ADA.username, expires_at });
    const me = await client.get('/auth/me', as(cookieOf(answer)));
    expect(me.body.data).toEqual({ username: ADA.username, is_admin: true });
  });

  it('binds the cookie to the host and to https where the browser uses https', async () => {
    const client = createClient();
    const https = { 'X-Forwarded-Proto': 'https' };
    const answer = await logIn(client, ADA, https);
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^__Host-backup-observatory=.*; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
      ),
    ]);
    const cookie = cookieOf(answer);
    expect((await client.get('/auth/me', as(cookie, { ...ofPage, ...https }))).status).toBe(200);
    const plain = cookie.replace('__Host-', '');
    expect((await client.get('/auth/me', as(plain, { ...ofPage, ...https }))).status).toBe(401);
  });

  it('is refused, with the reason, where a proxy claims https to a browser on http', async () => {
    const codes = new LoginCodes(createTestClock(Date.now()));
    const client = createClient({}, codes);
    const code = codes.issue(ADA.username);
    const claims = { 'X-Forwarded-Proto': 'https', 'Sec-Fetch-Site': 'same-origin' };
    for (const body of [ADA, { code }]) {
      const answer = await logIn(client, body, { ...claims, Origin: 'http://nas' });
      expect(answer.status).toBe(400);
      expect(answer.body.error.message).toContain(
        'the proxy claims https (X-Forwarded-Proto), but the browser uses http',
      );
      expect(answer.body.error.message).toContain('proxy_set_header X-Forwarded-Proto $scheme;');
      expect(answer.headers.getSetCookie()).toEqual([]);
    }
    // The link has not been used up.
    expect((await logIn(client, { code })).status).toBe(200);
  });

  it('refuses a wrong password as /auth/login does, and counts it', async () => {
    const client = createClient({ LOGIN_MAX_FAILURES: '1' });
    const answer = await logIn(client, { ...ADA, password: 'wrong' });
    expect(answer.status).toBe(401);
    expect(answer.headers.getSetCookie()).toEqual([]);
    expect((await logIn(client)).body.error.code).toBe('LOGIN_LOCKED');
  });

  it.each(['cross-site', 'same-site'])('rejects a %s page', async (site) => {
    const answer = await logIn(createClient(), ADA, { 'Sec-Fetch-Site': site });
    expect(answer.status).toBe(403);
  });
});

describe('a login code', () => {
  const clock = createTestClock(Date.now());

  it('logs in once', async () => {
    const codes = new LoginCodes(clock);
    const client = createClient({}, codes);
    const code = codes.issue(ADA.username);
    const first = await logIn(client, { code });
    expect(first.body.data.username).toBe(ADA.username);
    expect((await client.get('/auth/me', as(cookieOf(first)))).status).toBe(200);
    expect((await logIn(client, { code })).status).toBe(401);
  });

  it('expires after 10 minutes', async () => {
    const codes = new LoginCodes(clock);
    const code = codes.issue(ADA.username);
    clock.advance(10 * 60_000);
    expect((await logIn(createClient({}, codes), { code })).status).toBe(401);
  });

  it('locks nobody out when it is wrong', async () => {
    const client = createClient({ LOGIN_MAX_FAILURES: '1' }, new LoginCodes(clock));
    const answer = await logIn(client, { code: 'guessed' });
    expect(answer.status).toBe(401);
    expect(answer.body.error.message).toBe('this login link was used or has expired');
    expect((await logIn(client)).status).toBe(200);
  });

  it('is rejected where none is issued', async () => {
    expect((await logIn(createClient(), { code: 'x' })).status).toBe(401);
  });
});

describe('DELETE /auth/session', () => {
  it('ends the session, so that a copy of the cookie is worthless', async () => {
    const client = createClient();
    const [cookie, another] = [cookieOf(await logIn(client)), cookieOf(await logIn(client))];
    const answer = await client.send('DELETE', '/auth/session', as(cookie));
    expect(answer.status).toBe(200);
    expect(answer.headers.getSetCookie()).toEqual([
      'backup-observatory=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict',
    ]);
    expect((await client.get('/auth/me', as(cookie))).status).toBe(401);
    expect((await client.get('/auth/me', as(another))).status).toBe(200);
  });

  it('forgets ended sessions whose tokens have expired', async () => {
    const { db } = database;
    await db.query({
      text: `INSERT INTO ended_sessions VALUES ('old', now() - interval '2 days'), ('new', now())`,
    });
    const client = createClient();
    await client.send('DELETE', '/auth/session', as(cookieOf(await logIn(client))));
    const left = await db.query<{ id: string }>({ text: 'SELECT id FROM ended_sessions' });
    expect(left.map(({ id }) => id)).toEqual(expect.arrayContaining(['new']));
    expect(left.map(({ id }) => id)).not.toContain('old');
  });
});

describe('a browser session', () => {
  it('ends when the password changes', async () => {
    const grace = { username: 'grace', password: 'the first password' };
    await addUser(database.db, grace.username, await hashPassword(grace.password));
    const client = createClient();
    const cookie = cookieOf(await logIn(client, grace));
    expect((await client.get('/auth/me', as(cookie))).status).toBe(200);
    await changePassword(database.db, grace.username, await hashPassword('another password'));
    expect((await client.get('/auth/me', as(cookie))).status).toBe(401);
  });

  it('changes nothing unless a page of the same origin asks', async () => {
    const client = createClient();
    const cookie = cookieOf(await logIn(client));
    const add = async (headers: Record<string, string>) => {
      const { status } = await client.post('/sessions', { session_name: 'x' }, as(cookie, headers));
      return status;
    };
    expect(await add(ofPage)).toBe(201);
    expect(await add({})).toBe(403);
    expect(await add({ 'Sec-Fetch-Site': 'none' })).toBe(403);
    expect(await add({ 'Sec-Fetch-Site': 'same-site' })).toBe(403);
    expect(await add({ Host: 'nas:8080', Origin: 'http://nas:8080' })).toBe(201);
    expect(await add({ Host: 'nas:8080', Origin: 'http://nas:8081' })).toBe(403);
    expect(await add({ Host: 'nas:8080', Origin: 'app://editor' })).toBe(403);
  });

  it('allows GET requests to the chat only from a page of the same origin', async () => {
    const client = createClient();
    const cookie = cookieOf(await logIn(client));
    const ask = async (headers: Record<string, string>) =>
      (await client.get('/chat?question=x', as(cookie, headers))).status;
    expect(await ask({})).toBe(403);
    expect(await ask({ 'Sec-Fetch-Site': 'none' })).toBe(403);
    expect(await ask(ofPage)).not.toBe(403);
  });

  it('is not accepted from a page on another port', async () => {
    const client = createClient();
    const cookie = cookieOf(await logIn(client));
    const answer = await client.get('/sessions', as(cookie, { 'Sec-Fetch-Site': 'same-site' }));
    expect(answer.status).toBe(401);
  });

  it('may read without the Sec-Fetch-Site header', async () => {
    const client = createClient();
    const cookie = cookieOf(await logIn(client));
    expect((await client.get('/sessions', as(cookie, {}))).status).toBe(200);
  });
});

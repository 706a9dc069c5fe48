import { beforeEach, describe, expect, it } from 'vitest';
import { hashPassword } from '../../lib/security/password.ts';
import { addUser } from '../../lib/users/users.ts';
import { useDatabase } from '../support/hooks.ts';
import {
  ADA,
  createObservatoryClient,
  type ObservatoryAnswer,
} from '../support/observatory-client.ts';
import { QUICK_COST } from '../support/passwords.ts';
import { sql } from '../support/records.ts';

// Ada is AUTH_USERNAME; grace and linus are in the table.

const database = useDatabase();
const PASSWORD = 'the password of grace';
const NEW = 'a new and better one';
const ofPage = { 'Sec-Fetch-Site': 'same-origin' };
let client: ReturnType<typeof createObservatoryClient>;
let grace: { token: string };

beforeEach(async () => {
  client = createObservatoryClient({ db: database.db });
  await sql(database.db, 'DELETE FROM users');
  for (const name of ['grace', 'linus']) {
    await addUser(database.db, name, await hashPassword(`the password of ${name}`, QUICK_COST));
  }
  grace = { token: await tokenOf('grace', PASSWORD) };
});

async function tokenOf(username: string, password: string): Promise<string> {
  return (await client.login(username, password)).body.access_token;
}

const codeOf = ({ status, body }: ObservatoryAnswer) => [status, body.error?.code];
const forbidden = [403, 'FORBIDDEN'];

describe('GET /users', () => {
  it('lists all users for AUTH_USERNAME, who comes first', async () => {
    const { body } = await client.get('/users');
    expect(body.data.may_manage).toBe(true);
    expect(body.data.users).toEqual([
      { username: ADA.username, created_at: null, is_owner: true, is_admin: true },
      { username: 'grace', created_at: expect.any(String), is_owner: false, is_admin: false },
      { username: 'linus', created_at: expect.any(String), is_owner: false, is_admin: false },
    ]);
  });

  it('lists AUTH_USERNAME once, even if the table contains the name', async () => {
    await addUser(database.db, ADA.username, await hashPassword(PASSWORD, QUICK_COST));
    const { body } = await client.get('/users');
    expect(body.data.users.map((user: { username: string }) => user.username)).toEqual([
      'ada',
      'grace',
      'linus',
    ]);
  });

  it('shows other users only themselves', async () => {
    const { body } = await client.get('/users', grace);
    expect(body.data.may_manage).toBe(false);
    expect(body.data.users).toEqual([
      { username: 'grace', created_at: expect.any(String), is_owner: false, is_admin: false },
    ]);
  });
});

describe('POST /users', () => {
  it('adds a user who can log in', async () => {
    const { status, body } = await client.post('/users', { username: 'alan', password: NEW });
    expect([status, body.data]).toEqual([201, { username: 'alan' }]);
    expect((await client.login('alan', NEW)).status).toBe(200);
  });

  it.each(['grace', ADA.username])('answers 409 for the existing user %s', async (username) => {
    const answer = await client.post('/users', { username, password: NEW });
    expect(codeOf(answer)).toEqual([409, 'CONFLICT']);
    expect((await client.login('grace', PASSWORD)).status).toBe(200);
  });

  it.each([
    ['an empty name', '', NEW],
    ['a name with a space', 'a b', NEW],
    ['a name that cannot be part of a URL', '..', NEW],
    ['a long name', 'x'.repeat(65), NEW],
    ['a short password', 'alan', 'eleven char'],
    ['a long password', 'alan', 'x'.repeat(1_025)],
  ])('rejects %s', async (_fault, username, password) => {
    const answer = await client.post('/users', { username, password });
    expect(codeOf(answer)).toEqual([400, 'VALIDATION_ERROR']);
  });
});

describe('PATCH /users/:name', () => {
  const roleOf = async () => (await client.get('/auth/me', grace)).body.data.is_admin;
  const patch = (name: string, is_admin: boolean, as = {}) =>
    client.send('PATCH', `/users/${name}`, { json: { is_admin }, ...as });

  it('makes an administrator, and takes that away, from the next request on', async () => {
    expect(await roleOf()).toBe(false);
    expect((await patch('grace', true)).status).toBe(200);
    expect(await roleOf()).toBe(true);
    const [, listed] = (await client.get('/users')).body.data.users;
    expect(listed).toMatchObject({ username: 'grace', is_admin: true, is_owner: false });
    expect((await patch('grace', false)).status).toBe(200);
    expect(await roleOf()).toBe(false);
  });

  it('refuses administrators, unknown names and AUTH_USERNAME', async () => {
    await patch('grace', true);
    expect(codeOf(await patch('linus', true, grace))).toEqual(forbidden);
    expect(codeOf(await patch('nobody', true))).toEqual([404, 'NOT_FOUND']);
    expect(codeOf(await patch(ADA.username, false))).toEqual([409, 'CONFLICT']);
    expect((await client.get('/auth/me')).body.data.is_admin).toBe(true);
  });

  it('gives a removed and added user no role of the former one', async () => {
    await patch('grace', true);
    await client.send('DELETE', '/users/grace');
    await client.post('/users', { username: 'grace', password: NEW });
    grace = { token: await tokenOf('grace', NEW) };
    expect(await roleOf()).toBe(false);
  });

  it('adds an administrator', async () => {
    await client.post('/users', { username: 'alan', password: NEW, is_admin: true });
    const alan = { token: await tokenOf('alan', NEW) };
    expect((await client.get('/auth/me', alan)).body.data.is_admin).toBe(true);
  });
});

describe('DELETE /users/:name', () => {
  it('removes the user, whose token is no longer valid', async () => {
    const { status, body } = await client.send('DELETE', '/users/grace');
    expect([status, body.data]).toEqual([200, { username: 'grace' }]);
    expect((await client.get('/auth/me', grace)).status).toBe(401);
  });

  it('answers 404 for an unknown user', async () => {
    expect(codeOf(await client.send('DELETE', '/users/nobody'))).toEqual([404, 'NOT_FOUND']);
  });

  it('keeps the data of AUTH_USERNAME', async () => {
    await addUser(database.db, ADA.username, await hashPassword(PASSWORD, QUICK_COST));
    const answer = await client.send('DELETE', `/users/${ADA.username}`);
    expect(codeOf(answer)).toEqual([409, 'CONFLICT']);
    const rows = await sql(database.db, "SELECT 1 FROM users WHERE username = 'ada'");
    expect(rows).toHaveLength(1);
  });
});

describe('managing users without being AUTH_USERNAME', () => {
  it.each(['linus', 'nobody', ADA.username])('is 403 for %s, existing or not', async (name) => {
    const about = `/users/${name}`;
    const user = { username: name, password: NEW };
    expect(codeOf(await client.post('/users', user, grace))).toEqual(forbidden);
    expect(codeOf(await client.send('DELETE', about, grace))).toEqual(forbidden);
    const change = await client.send('PUT', `${about}/password`, {
      ...grace,
      json: { password: NEW, current_password: PASSWORD },
    });
    expect(codeOf(change)).toEqual(forbidden);
    expect((await client.login('linus', 'the password of linus')).status).toBe(200);
  });

  it("is 403 even for one's own removal", async () => {
    expect(codeOf(await client.send('DELETE', '/users/grace', grace))).toEqual(forbidden);
  });

  it('is 403 for everybody if AUTH_USERNAME is not set', async () => {
    const environment = { AUTH_USERNAME: undefined, AUTH_PASSWORD: undefined };
    const without = createObservatoryClient({ db: database.db, environment });
    expect(codeOf(await without.send('DELETE', '/users/linus', grace))).toEqual(forbidden);
  });
});

describe('PUT /users/:name/password', () => {
  const change = (name: string, json: object, request = {}) =>
    client.send('PUT', `/users/${name}/password`, { ...request, json });

  it("lets AUTH_USERNAME set another user's password, which ends their tokens", async () => {
    expect((await change('grace', { password: NEW })).status).toBe(200);
    expect((await client.get('/auth/me', grace)).status).toBe(401);
    expect((await client.login('grace', PASSWORD)).status).toBe(401);
    expect((await client.login('grace', NEW)).status).toBe(200);
  });

  it('answers 404 for an unknown user', async () => {
    expect(codeOf(await change('nobody', { password: NEW }))).toEqual([404, 'NOT_FOUND']);
  });

  it('does not set AUTH_PASSWORD', async () => {
    const json = { password: NEW, current_password: ADA.password };
    expect(codeOf(await change(ADA.username, json))).toEqual([409, 'CONFLICT']);
  });

  it('lets users change their own password with the current one', async () => {
    const json = { password: NEW, current_password: PASSWORD };
    const { status, headers } = await change('grace', json, grace);
    expect(status).toBe(200);
    // A program gets no cookie.
    expect(headers.getSetCookie()).toEqual([]);
    expect((await client.get('/auth/me', grace)).status).toBe(401);
    expect((await client.login('grace', NEW)).status).toBe(200);
  });

  it('requires the current password', async () => {
    const answer = await change('grace', { password: NEW }, grace);
    expect(answer.body.error.details).toEqual([
      { path: 'current_password', message: 'is required for your own password' },
    ]);
    const wrong = await change('grace', { password: NEW, current_password: 'wrong' }, grace);
    expect(codeOf(wrong)).toEqual(forbidden);
    expect((await client.login('grace', PASSWORD)).status).toBe(200);
  });

  it('counts wrong current passwords as failed logins of the address', async () => {
    const limited = createObservatoryClient({
      db: database.db,
      environment: { LOGIN_MAX_FAILURES: '2' },
    });
    const guess = () =>
      limited.send('PUT', '/users/grace/password', {
        ...grace,
        json: { password: NEW, current_password: 'wrong' },
      });
    expect([(await guess()).status, (await guess()).status]).toEqual([403, 403]);
    expect(codeOf(await guess())).toEqual([429, 'LOGIN_LOCKED']);
    expect((await limited.login('grace', PASSWORD)).status).toBe(429);
  });

  it('keeps only the browser that changed the password logged in', async () => {
    const logIn = async () => {
      const login = { username: 'grace', password: PASSWORD };
      const answer = await client.post('/auth/session', login, { token: null, headers: ofPage });
      return cookieOf(answer);
    };
    const [own, other] = [await logIn(), await logIn()];
    const as = (cookie: string) => ({ token: null, headers: { Cookie: cookie, ...ofPage } });
    const json = { password: NEW, current_password: PASSWORD };
    const renewed = cookieOf(await change('grace', json, as(own)));
    const statuses = [];
    for (const cookie of [renewed, own, other]) {
      statuses.push((await client.get('/auth/me', as(cookie))).status);
    }
    expect(statuses).toEqual([200, 401, 401]);
  });
});

/** Name and value of the cookie that an answer sets. */
function cookieOf(answer: ObservatoryAnswer): string {
  return answer.headers.getSetCookie()[0]?.split(';')[0] ?? '';
}

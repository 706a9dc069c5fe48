import { Hono } from 'hono';
import { expect, it } from 'vitest';
import { requireInternalSecret } from '../../lib/http/authentication.ts';
import type { HttpEnv } from '../../lib/http/env.ts';
import { createReaderCheck } from '../../lib/users/reader-check.ts';
import { addUser } from '../../lib/users/users.ts';
import { createTestDeps, withSecret } from '../support/deps.ts';
import { openDownDatabase } from '../support/down-database.ts';
import { useDatabase } from '../support/hooks.ts';
import { ADA, observatoryEnvironment, signToken } from '../support/observatory-client.ts';
import { sql } from '../support/records.ts';

// Who is an administrator, whatever the route.

const database = useDatabase();

function start(environment: Record<string, string> = {}, db = database.db) {
  const deps = createTestDeps({ db, environment: { ...observatoryEnvironment, ...environment } });
  const check = createReaderCheck(deps, requireInternalSecret(deps));
  const app = new Hono<HttpEnv>();
  app.use(async (c, next) => {
    c.set('hasInternalSecret', c.req.header('x-internal-secret') !== undefined);
    await next();
  });
  app.use(check.recognizeReader, check.requireIdentity, check.requireAdministrator);
  app.get('/', (c) => c.text('in'));
  app.onError((error, c) => c.text(String(Object(error).code ?? error), 500));
  return {
    ask: async (headers: Record<string, string> = {}) =>
      (await app.request('/', { headers })).text(),
    as: async (name: string) => ({ Authorization: `Bearer ${await signToken(deps, name)}` }),
  };
}

it.each(['true', 'false'])(
  'lets in administrators only, with API_REQUIRE_AUTH=%s',
  async (open) => {
    const { ask, as } = start({ API_REQUIRE_AUTH: open });
    const { db } = database;
    await addUser(db, `user-${open}`, 'x');
    await addUser(db, `admin-${open}`, 'x', { isAdmin: true });
    // The tokens are of the tests' clock.
    await sql(db, "UPDATE users SET created_at = 'epoch'");
    expect(await ask()).toBe('UNAUTHORIZED');
    expect(await ask(withSecret)).toBe('in');
    expect(await ask(await as(ADA.username))).toBe('in');
    expect(await ask(await as(`admin-${open}`))).toBe('in');
    expect(await ask(await as(`user-${open}`))).toBe('FORBIDDEN');
    expect(await ask(await as('nobody'))).toBe('UNAUTHORIZED');
  },
);

it('does not take a stored administrator for AUTH_USERNAME once that is another name', async () => {
  const { ask, as } = start({ AUTH_USERNAME: 'someone-else' });
  expect(await ask(await as(ADA.username))).toBe('UNAUTHORIZED');
});

it('lets nobody in whose role cannot be looked up', async () => {
  const db = await openDownDatabase();
  const { ask, as } = start({}, db);
  expect(await ask(await as('grace'))).toBe('SERVICE_UNAVAILABLE');
  await db.close();
});

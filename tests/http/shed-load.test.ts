import { expect, it, vi } from 'vitest';
import { errorEnvelope, observatoryError } from '../../lib/http/error-shapes.ts';
import { createSurface } from '../../lib/http/surface.ts';
import { createObservatoryApp } from '../../lib/observatory/app.ts';
import { connect } from '../support/connection.ts';
import { createTestDeps } from '../support/deps.ts';
import { useDatabase } from '../support/hooks.ts';
import { observatoryEnvironment } from '../support/observatory-client.ts';
import { sql } from '../support/records.ts';
import { checkShape } from '../support/shape.ts';

/** The connections of the pool, and how many queries may wait for one. */
const CONNECTIONS = 10;
const MOST = 5;

const database = useDatabase();

/** Runs work while all connections are in use and this many queries are waiting. */
async function whileWaiting(waiting: number, work: () => Promise<void>): Promise<void> {
  const blocker = await connect(database.url);
  await blocker.query('SELECT pg_advisory_lock(7)');
  const queries = Array.from({ length: CONNECTIONS + waiting }, () =>
    sql(database.db, 'SELECT pg_advisory_lock_shared(7), pg_advisory_unlock_shared(7)'),
  );
  try {
    await vi.waitFor(() => expect(database.db.poolStats().waiting).toBe(waiting));
    await work();
  } finally {
    await blocker.end();
    await Promise.all(queries);
  }
}

function createApp() {
  const environment = { ...observatoryEnvironment, MAX_WAITING_QUERIES: String(MOST) };
  const deps = createTestDeps({ db: database.db, environment });
  const app = createSurface(deps);
  for (const path of ['/work', '/health', '/metrics']) app.get(path, (c) => c.text('done'));
  return { app, deps };
}

it('the server rejects requests only while too many queries wait for the database', async () => {
  const { app } = createApp();
  await whileWaiting(MOST + 1, async () => {
    const refused = await app.request('/work');
    expect(refused.status).toBe(503);
    expect(refused.headers.get('Retry-After')).toBe('2');
    expect(refused.headers.get('X-Request-ID')).toMatch(/^[\w-]{36}$/);
    expect(refused.headers.get('X-Content-Type-Options')).toBe('nosniff');
    checkShape(errorEnvelope, await refused.json());
  });
  expect((await app.request('/work')).status).toBe(200);
});

it('the server serves requests while the number of waiting queries is within the limit', async () => {
  const { app } = createApp();
  await whileWaiting(MOST, async () => {
    expect((await app.request('/work')).status).toBe(200);
  });
});

it.each(['/health', '/metrics'])('the server always answers %s', async (path) => {
  const { app } = createApp();
  await whileWaiting(MOST + 1, async () => {
    expect((await app.request(path)).status).toBe(200);
  });
});

it('an overloaded server uses the error shape of the surface', async () => {
  const app = createObservatoryApp(createApp().deps);
  await whileWaiting(MOST + 1, async () => {
    const refused = await app.request('/auth/me');
    expect(refused.status).toBe(503);
    checkShape(observatoryError, await refused.json());
  });
});

it('an overloaded server counts rejected requests, and logs them once a minute', async () => {
  const { app, deps } = createApp();
  await whileWaiting(MOST + 1, async () => {
    for (let n = 0; n < 3; n++) await app.request('/work');
  });
  expect(await deps.metrics.render()).toContain('http_requests_shed_total 3');
  expect(deps.logged).toMatchObject([{ level: 'warn', waiting: MOST + 1 }]);
});

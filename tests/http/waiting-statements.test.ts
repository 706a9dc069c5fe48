import { expect, it, vi } from 'vitest';
import { createBackupsApp } from '../../lib/backups/app.ts';
import { MAX_WAITING_PER_CALLER } from '../../lib/database/statement-queue.ts';
import { connect } from '../support/connection.ts';
import { withSecret } from '../support/deps.ts';
import { useDatabase } from '../support/hooks.ts';
import { ADA, createObservatoryClient } from '../support/observatory-client.ts';

const CONNECTIONS = 10;
const database = useDatabase();

/** Runs work while every connection of the pool is in use. */
async function whileBusy(work: () => Promise<void>): Promise<void> {
  const blocker = await connect(database.url);
  await blocker.query('SELECT pg_advisory_lock(7)');
  const text = 'SELECT pg_advisory_lock_shared(7), pg_advisory_unlock_shared(7)';
  const busy = Array.from({ length: CONNECTIONS }, () => database.db.query({ text }));
  try {
    await work();
  } finally {
    await blocker.end();
    await Promise.all(busy);
  }
}

const untilWaiting = (count: number) =>
  vi.waitFor(() => expect(database.db.poolStats().waiting).toBe(count));

it('a user with many searches gets 429 for those beyond the limit, and others are served', async () => {
  const ada = createObservatoryClient({ db: database.db });
  const grace = { token: await ada.signToken('grace') };
  const asked: Promise<{ status: number }>[] = [];
  await whileBusy(async () => {
    for (let n = 0; n < 60; n++) asked.push(ada.post('/search', { query: `disk ${n}` }));
    await untilWaiting(MAX_WAITING_PER_CALLER);
    const refused = await ada.post('/search', { query: 'one more' });
    expect(refused).toMatchObject({ status: 429, body: { error: { code: 'RATE_LIMITED' } } });
    expect(refused.headers.get('retry-after')).toBe('2');
    asked.push(ada.get('/auth/me', grace));
    await untilWaiting(MAX_WAITING_PER_CALLER + 1);
  });
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(MAX_WAITING_PER_CALLER);
  expect(statuses.filter((status) => status === 429)).toHaveLength(40);
  expect(statuses.at(-1)).toBe(401); // grace is no user, which took a statement to find out
});

it('programs with the internal secret are not limited', async () => {
  const app = createBackupsApp(createObservatoryClient({ db: database.db }).deps);
  const asked: (Response | Promise<Response>)[] = [];
  await whileBusy(async () => {
    for (let n = 0; n < 40; n++) asked.push(app.request('/api/repos', { headers: withSecret }));
    await untilWaiting(40);
  });
  for (const answer of await Promise.all(asked)) expect(answer.status).toBe(200);
});

it('the statement of a request leaves the queue when its client disconnects, but not that of a change', async () => {
  const { deps, signToken } = createObservatoryClient({ db: database.db });
  const app = createBackupsApp(deps);
  const headers = { Authorization: `Bearer ${await signToken(ADA.username)}` };
  const gone = new AbortController();
  await whileBusy(async () => {
    const { signal } = gone;
    const reading = app.request('/api/repos', { headers, signal });
    const body = JSON.stringify({ title: 'More disk', description: 'It was full.' });
    const changing = app.request('/api/fixes', {
      ...{ method: 'POST', body, signal },
      headers: { ...withSecret, 'Content-Type': 'application/json' },
    });
    await untilWaiting(2);
    gone.abort();
    await untilWaiting(1);
    expect((await reading).status).toBe(400);
    void changing;
  });
  await vi.waitFor(async () => {
    const text = 'SELECT count(*)::int AS count FROM backup_fixes';
    expect(await database.db.query({ text })).toEqual([{ count: 1 }]);
  });
});

import { describe, expect, it, vi } from 'vitest';
import { databaseUnavailable } from '../../lib/database/database.ts';
import { withSecret } from '../support/deps.ts';
import { untilAsleep } from '../support/live.ts';
import { setUpLiveFeed } from '../support/live-feed.ts';
import { empty, insertLog, sql } from '../support/records.ts';

const feed = setUpLiveFeed();

/** Polls so far. */
const polls = () => feed.db.statements.filter((name) => name === 'poll_logs').length;
/** One sleeper for the poller and one for each client. */
const asleep = (clients: number) => untilAsleep(feed.server.deps, clients === 0 ? 0 : clients + 1);

/** How many polls an exact span of time brings. */
async function pollsIn(ms: number, clients = 1): Promise<number> {
  const before = polls();
  await asleep(clients);
  feed.server.deps.clock.advance(ms);
  await asleep(clients);
  return polls() - before;
}

describe('the poller', () => {
  it('does not query without clients, or after the last one has left', async () => {
    feed.server.deps.clock.advance(60_000);
    expect(feed.db.statements).toEqual([]);
    const client = await feed.openEvents();
    client.close();
    await asleep(0);
    const asked = feed.db.statements.length;
    feed.server.deps.clock.advance(60_000);
    expect(feed.db.statements).toHaveLength(asked);
  });

  it('runs as many queries for many clients as for one', async () => {
    const clients = await Promise.all(Array.from({ length: 10 }, () => feed.openEvents()));
    const sockets = await Promise.all(Array.from({ length: 10 }, () => feed.openSocket()));
    expect(await pollsIn(2_000, 20)).toBe(1);
    await insertLog(feed.database.db);
    await feed.until(() => {
      for (const client of [...clients, ...sockets]) expect(client.ids()).toEqual([1]);
    });
  });

  it('admits simultaneous clients with one query', async () => {
    const gate = Promise.withResolvers<void>();
    feed.db.before(() => gate.promise);
    const opening = Array.from({ length: 10 }, () => feed.openEvents());
    // All of them wait: the first for its start, the others for the statement after it.
    await vi.waitFor(async () => {
      expect(await feed.server.deps.metrics.render()).toContain('http_requests_in_flight 10');
    });
    gate.resolve();
    await Promise.all(opening);
    expect(feed.db.statements).toEqual(['end_of_logs', 'poll_logs']);
  });

  it('polls every 2 seconds, and every 15 after a minute without rows', async () => {
    await feed.openEvents();
    expect(await pollsIn(1_999)).toBe(0);
    expect(await pollsIn(1)).toBe(1);
    for (let second = 4; second < 60; second += 2) expect(await pollsIn(2_000)).toBe(1);
    expect(await pollsIn(2_000)).toBe(1);
    expect(await pollsIn(14_999)).toBe(0);
    expect(await pollsIn(1)).toBe(1);
  });

  it.each<[string, () => Promise<{ close(): void } | null>]>([
    ['rows arrive', () => insertLog(feed.database.db).then(() => null)],
    ['a subscriber joins', () => feed.openEvents()],
  ])('polls every 2 seconds again after %s', async (_when, happen) => {
    await feed.openEvents();
    for (let second = 0; second < 60; second += 2) await pollsIn(2_000);
    const other = await happen();
    const clients = other ? 2 : 1;
    await asleep(clients);
    feed.server.deps.clock.advance(15_000);
    expect(await pollsIn(1_999, clients)).toBeLessThanOrEqual(1);
    expect(await pollsIn(2_000, clients)).toBe(1);
  });

  it('queries again at once after a full batch of 200 rows', async () => {
    const client = await feed.openEvents();
    await asleep(1);
    const before = polls();
    await sql(
      feed.database.db,
      'INSERT INTO execution_logs (message) SELECT n FROM generate_series(1, 450) AS n',
    );
    feed.server.deps.clock.advance(2_000);
    await asleep(1);
    expect(polls() - before).toBe(3);
    await feed.until(() => expect(client.ids()).toHaveLength(450));
  });

  it('starts again from the newest row after a pause, without history', async () => {
    const first = await feed.openEvents();
    first.close();
    await asleep(0);
    await sql(
      feed.database.db,
      'INSERT INTO execution_logs (message) SELECT n FROM generate_series(1, 450) AS n',
    );
    const second = await feed.openEvents();
    await insertLog(feed.database.db);
    await feed.until(() => expect(second.ids()).toEqual([451]));
  });

  it('continues when ids start again after the table was emptied', async () => {
    await sql(
      feed.database.db,
      'INSERT INTO execution_logs (message) SELECT n FROM generate_series(1, 50) AS n',
    );
    const client = await feed.openEvents();
    await empty(feed.database.db);
    const before = polls();
    await feed.until(() => expect(polls()).toBeGreaterThan(before + 1));
    await insertLog(feed.database.db);
    await feed.until(() => expect(client.ids()).toEqual([1]));
  });
});

describe('a database that does not answer', () => {
  const fail = () =>
    feed.db.before(() => Promise.reject(databaseUnavailable(new Error('private'))));
  const mend = () => feed.db.before(() => undefined);

  it.each([
    ['unavailable', databaseUnavailable(new Error('private'))],
    ['without the table', new Error('private: no such table')],
  ])('makes a stream answer 503 before it starts: %s', async (_name, error) => {
    feed.db.before(() => Promise.reject(error));
    const response = await fetch(`${feed.server.url}/api/logs/stream`, { headers: withSecret });
    expect(response.status).toBe(503);
    expect(response.headers.get('content-type')).toBe('application/json');
    const body = await response.text();
    expect(JSON.parse(body)).toMatchObject({ error: { code: 'SERVICE_UNAVAILABLE' } });
    expect(body).not.toContain('private');
  });

  it('makes a resumed stream answer 503 before it starts if the older rows cannot be read', async () => {
    feed.db.before(({ name }) =>
      name === 'replay_logs'
        ? Promise.reject(databaseUnavailable(new Error('private')))
        : undefined,
    );
    const path = `${feed.server.url}/api/logs/stream?after_id=0`;
    expect((await fetch(path, { headers: withSecret })).status).toBe(503);
    await asleep(0);
  });

  it('makes a WebSocket handshake answer 503', async () => {
    fail();
    await expect(feed.openSocket()).rejects.toThrow('Unexpected server response: 503');
  });

  it('does not end a running stream, which misses nothing afterwards', async () => {
    const client = await feed.openEvents();
    await insertLog(feed.database.db);
    fail();
    await insertLog(feed.database.db);
    const before = polls();
    await feed.until(() => expect(polls()).toBeGreaterThan(before + 2));
    await insertLog(feed.database.db);
    mend();
    await feed.until(() => expect(client.ids()).toEqual([1, 2, 3]));
    expect(feed.server.deps.logged.filter(({ level }) => level === 'warn')).toHaveLength(1);
  });

  it('is queried again after 2 seconds, then every 4', async () => {
    await feed.openEvents();
    fail();
    expect(await pollsIn(2_000)).toBe(1);
    for (const ms of [2_000, 4_000, 4_000, 4_000]) {
      expect(await pollsIn(ms - 1)).toBe(0);
      expect(await pollsIn(1)).toBe(1);
    }
    mend();
    await insertLog(feed.database.db);
    expect(await pollsIn(4_000)).toBe(1);
    expect(await pollsIn(2_000)).toBe(1);
  });
});

import { describe, expect, it, vi } from 'vitest';
import { databaseUnavailable } from '../../lib/database/database.ts';
import { withSecret } from '../support/deps.ts';
import { advanceUntil, openEvents, openSocket, untilAsleep } from '../support/live.ts';
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
    const client = await openEvents(feed.server);
    client.close();
    await asleep(0);
    const asked = feed.db.statements.length;
    feed.server.deps.clock.advance(60_000);
    expect(feed.db.statements).toHaveLength(asked);
  });

  it('runs as many queries for many clients as for one', async () => {
    const clients = await Promise.all(Array.from({ length: 10 }, () => openEvents(feed.server)));
    const sockets = await Promise.all(Array.from({ length: 10 }, () => openSocket(feed.server)));
    expect(await pollsIn(2_000, 20)).toBe(1);
    await insertLog(feed.database.db);
    await advanceUntil(feed.server.deps, () => {
      for (const client of [...clients, ...sockets]) expect(client.ids()).toEqual([1]);
    });
    for (const client of clients) client.close();
    for (const { ws } of sockets) ws.terminate();
  });

  it('admits simultaneous clients with one query', async () => {
    const gate = Promise.withResolvers<void>();
    feed.db.before(() => gate.promise);
    const opening = Array.from({ length: 10 }, () => openEvents(feed.server));
    // All of them wait: the first for its start, the others for the statement after it.
    await vi.waitFor(async () => {
      expect(await feed.server.deps.metrics.render()).toContain('http_requests_in_flight 10');
    });
    gate.resolve();
    const clients = await Promise.all(opening);
    expect(feed.db.statements).toEqual(['end_of_logs', 'poll_logs']);
    for (const client of clients) client.close();
  });

  it('polls every 2 seconds, and every 15 after a minute without rows', async () => {
    const client = await openEvents(feed.server);
    expect(await pollsIn(1_999)).toBe(0);
    expect(await pollsIn(1)).toBe(1);
    for (let second = 4; second < 60; second += 2) expect(await pollsIn(2_000)).toBe(1);
    expect(await pollsIn(2_000)).toBe(1);
    expect(await pollsIn(14_999)).toBe(0);
    expect(await pollsIn(1)).toBe(1);
    client.close();
  });

  it.each<[string, () => Promise<{ close(): void } | null>]>([
    ['rows arrive', () => insertLog(feed.database.db).then(() => null)],
    ['a subscriber joins', () => openEvents(feed.server)],
  ])('polls every 2 seconds again after %s', async (_when, happen) => {
    const client = await openEvents(feed.server);
    for (let second = 0; second < 60; second += 2) await pollsIn(2_000);
    const other = await happen();
    const clients = other ? 2 : 1;
    await asleep(clients);
    feed.server.deps.clock.advance(15_000);
    expect(await pollsIn(1_999, clients)).toBeLessThanOrEqual(1);
    expect(await pollsIn(2_000, clients)).toBe(1);
    other?.close();
    client.close();
  });

  it('queries again at once after a full batch of 200 rows', async () => {
    const client = await openEvents(feed.server);
    await asleep(1);
    const before = polls();
    await sql(
      feed.database.db,
      'INSERT INTO execution_logs (message) SELECT n FROM generate_series(1, 450) AS n',
    );
    feed.server.deps.clock.advance(2_000);
    await asleep(1);
    expect(polls() - before).toBe(3);
    await advanceUntil(feed.server.deps, () => expect(client.ids()).toHaveLength(450));
    client.close();
  });

  it('starts again from the newest row after a pause, without history', async () => {
    const first = await openEvents(feed.server);
    first.close();
    await asleep(0);
    await sql(
      feed.database.db,
      'INSERT INTO execution_logs (message) SELECT n FROM generate_series(1, 450) AS n',
    );
    const second = await openEvents(feed.server);
    await insertLog(feed.database.db);
    await advanceUntil(feed.server.deps, () => expect(second.ids()).toEqual([451]));
    second.close();
  });

  it('continues when ids start again after the table was emptied', async () => {
    await sql(
      feed.database.db,
      'INSERT INTO execution_logs (message) SELECT n FROM generate_series(1, 50) AS n',
    );
    const client = await openEvents(feed.server);
    await empty(feed.database.db);
    const before = polls();
    await advanceUntil(feed.server.deps, () => expect(polls()).toBeGreaterThan(before + 1));
    await insertLog(feed.database.db);
    await advanceUntil(feed.server.deps, () => expect(client.ids()).toEqual([1]));
    client.close();
  });
});

describe('a database that does not answer', () => {
  const fail = () =>
    feed.db.before(() => Promise.reject(databaseUnavailable(new Error('private'))));
  const mend = () => feed.db.before(() => undefined);

  it.each([
    ['unavailable', databaseUnavailable(new Error('private'))],
    ['without the table', new Error('private: no such table')],
  ])('is 503 before a stream starts: %s', async (_name, error) => {
    feed.db.before(() => Promise.reject(error));
    const response = await fetch(`${feed.server.url}/api/logs/stream`, { headers: withSecret });
    expect(response.status).toBe(503);
    expect(response.headers.get('content-type')).toBe('application/json');
    const body = await response.text();
    expect(JSON.parse(body)).toMatchObject({ error: { code: 'SERVICE_UNAVAILABLE' } });
    expect(body).not.toContain('private');
  });

  it('is 503 before a resumed stream starts if the older rows cannot be read', async () => {
    feed.db.before(({ name }) =>
      name === 'replay_logs'
        ? Promise.reject(databaseUnavailable(new Error('private')))
        : undefined,
    );
    const path = `${feed.server.url}/api/logs/stream?after_id=0`;
    expect((await fetch(path, { headers: withSecret })).status).toBe(503);
    await asleep(0);
  });

  it('is 503 for the handshake of a WebSocket', async () => {
    fail();
    await expect(openSocket(feed.server)).rejects.toThrow('Unexpected server response: 503');
  });

  it('does not end a stream, which misses nothing afterwards', async () => {
    const client = await openEvents(feed.server);
    await insertLog(feed.database.db);
    fail();
    await insertLog(feed.database.db);
    const before = polls();
    await advanceUntil(feed.server.deps, () => expect(polls()).toBeGreaterThan(before + 2));
    await insertLog(feed.database.db);
    mend();
    await advanceUntil(feed.server.deps, () => expect(client.ids()).toEqual([1, 2, 3]));
    expect(feed.server.deps.logged.filter(({ level }) => level === 'warn')).toHaveLength(1);
    client.close();
  });

  it('is queried again after 2 and then every 4 seconds', async () => {
    const client = await openEvents(feed.server);
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
    client.close();
  });
});

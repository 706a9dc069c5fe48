import { once } from 'node:events';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { openRawStream, untilAsleep } from '../support/live.ts';
import { setUpLiveFeed } from '../support/live-feed.ts';
import { sql } from '../support/records.ts';

// A client that stops reading. The kernels buffer some megabytes before a write has to wait, so the rows here
// are large.

const feed = setUpLiveFeed();

beforeAll(async () => {
  // Indexing the words of such large rows for search would take seconds, and nothing searches here.
  await sql(feed.database.db, 'DROP INDEX IF EXISTS execution_logs_document');
});

const ROWS = 150;
const dropped = () =>
  feed.server.deps.logged.filter(({ message }) => message.includes('too slowly'));

/** Writes 150 rows of 50 kB and has them polled, once this many sleepers wait. */
async function pollLarge(sleepers: number): Promise<void> {
  await sql(
    feed.database.db,
    "INSERT INTO execution_logs (message) SELECT repeat('x', 50000) FROM generate_series(1, $1)",
    [ROWS],
  );
  await untilAsleep(feed.server.deps, sleepers);
  feed.server.deps.clock.advance(2_000);
}

const untilReceived = (client: { ids(): number[] }, rows: number) =>
  vi.waitFor(() => expect(client.ids().length).toBe(rows), { timeout: 120_000 });

/**
 * The first poll fills the connection of a client that does not read, the second waits, and the third exceeds the
 * limit of 256 waiting events.
 */
async function fallBehind(healthy: { ids(): number[] }): Promise<void> {
  for (const poll of [1, 2, 3]) {
    expect(dropped()).toEqual([]);
    await vi.waitFor(() => expect(feed.server.deps.clock.sleepers()).toBeGreaterThan(2));
    await pollLarge(feed.server.deps.clock.sleepers());
    await untilReceived(healthy, poll * ROWS);
  }
  expect(dropped()).toHaveLength(1);
}

describe('a client that stops reading', () => {
  it('has its stream closed, and does not affect others', async () => {
    const healthy = await feed.openEvents();
    const stalled = await openRawStream(feed.server);
    stalled.socket.pause();
    await fallBehind(healthy);
    stalled.socket.resume();
    const received = await stalled.ended();
    // Cut off rather than ended, because an end would mean that nothing is missing.
    expect(received).not.toMatch(/\r\n0\r\n\r\n$/);
    expect(healthy.ids().every((id, index) => id === index + 1)).toBe(true);
  });

  it('has its WebSocket closed with 1013', async () => {
    const healthy = await feed.openEvents();
    const stalled = await feed.openSocket();
    stalled.ws.pause();
    await fallBehind(healthy);
    stalled.ws.resume();
    expect(await stalled.closed).toBe(1013);
  });

  it('is cut off 10 seconds after the close with 1013 if it still does not read', async () => {
    const stalled = await feed.openSocket();
    const healthy = await feed.openEvents();
    stalled.ws.pause();
    await fallBehind(healthy);
    healthy.close();
    // Only the deadline of the closed client is left.
    await untilAsleep(feed.server.deps, 1);
    feed.server.deps.clock.advance(10_000);
    await untilAsleep(feed.server.deps, 0);
    stalled.ws.resume();
    expect(await stalled.closed).toBe(1006);
  });

  it('has its WebSocket cut off when a write takes longer than 10 seconds', async () => {
    const healthy = await feed.openSocket();
    const stalled = await feed.openSocket();
    stalled.ws.pause();
    // One poll of more rows than any buffer holds.
    await pollLarge(3);
    await untilReceived(healthy, ROWS);
    // The poller, both keepalives and the deadlines of both writes.
    await untilAsleep(feed.server.deps, 5);
    feed.server.deps.clock.advance(9_999);
    await untilAsleep(feed.server.deps, 5);
    feed.server.deps.clock.advance(1);
    await untilAsleep(feed.server.deps, 2);
    stalled.ws.resume();
    expect(await stalled.closed).toBe(1006);
    expect(healthy.ws.readyState).toBe(healthy.ws.OPEN);
    expect(dropped()).toEqual([]);
  });

  it('has its stream cut off when it does not read the end', async () => {
    const stalled = await openRawStream(feed.server);
    stalled.socket.pause();
    await pollLarge(2);
    await untilAsleep(feed.server.deps, 2);
    feed.server.deps.clock.advance(298_000);
    await untilAsleep(feed.server.deps, 0);
    stalled.socket.resume();
    expect(await stalled.ended()).not.toMatch(/\r\n0\r\n\r\n$/);
  });
});

it('a client that pauses for less time catches up without loss', async () => {
  const healthy = await feed.openEvents();
  const pausing = await feed.openSocket();
  pausing.ws.pause();
  await pollLarge(3);
  await untilReceived(healthy, ROWS);
  // The poller, both clients and the deadline of the write.
  await pollLarge(4);
  await untilReceived(healthy, 2 * ROWS);
  pausing.ws.resume();
  await untilReceived(pausing, 2 * ROWS);
  expect(dropped()).toEqual([]);
  healthy.close();
  const closed = once(pausing.ws, 'close');
  pausing.ws.terminate();
  await closed;
});

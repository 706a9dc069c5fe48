import type { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { connect } from '../support/connection.ts';
import { untilAsleep } from '../support/live.ts';
import { setUpLiveFeed } from '../support/live-feed.ts';
import { insertLog, sql } from '../support/records.ts';

// Ids come from a sequence, but transactions commit out of order: on a real Postgres, a second connection
// holds back a row with a low id while rows with higher ids are committed.

const feed = setUpLiveFeed();
let slow: Client;

beforeAll(async () => {
  slow = await connect(feed.database.url);
});
afterAll(() => slow.end());
afterEach(() => slow.query('ROLLBACK'));

/** Takes the next ids in a transaction that stays open. */
async function holdBack(rows = 1): Promise<void> {
  await slow.query('BEGIN');
  for (let n = 0; n < rows; n++)
    await slow.query("INSERT INTO execution_logs (message) VALUES ('late')");
}
const commit = () => slow.query('COMMIT');
const insert = () => insertLog(feed.database.db);

describe('a row committed after one with a higher id', () => {
  it('is delivered once to streams and WebSockets', async () => {
    const events = await feed.openEvents();
    const socket = await feed.openSocket();
    await holdBack();
    await insert();
    await feed.until(() => expect(events.ids()).toEqual([2]));
    await commit();
    await insert();
    await feed.until(() => expect(events.ids()).toEqual([2, 1, 3]));
    await insert();
    await feed.until(() => expect(events.ids()).toEqual([2, 1, 3, 4]));
    await feed.until(() => expect(socket.ids()).toEqual([2, 1, 3, 4]));
  });

  it('is delivered when its transaction began before the request', async () => {
    await insert();
    await holdBack(2);
    await insert();
    const client = await feed.openEvents();
    await commit();
    await insert();
    await feed.until(() => expect(client.ids()).toEqual([2, 3, 5]));
  });

  it('is delivered when it lies between other missing rows', async () => {
    const client = await feed.openEvents();
    await holdBack();
    await slow.query('SAVEPOINT one');
    await slow.query("INSERT INTO execution_logs (message) VALUES ('rolled back')");
    await slow.query('ROLLBACK TO one');
    await slow.query("INSERT INTO execution_logs (message) VALUES ('late')");
    await insert();
    await feed.until(() => expect(client.ids()).toEqual([4]));
    await commit();
    await insert();
    await feed.until(() => expect(client.ids()).toEqual([4, 1, 3, 5]));
  });

  it('is looked for during at least 30 seconds', async () => {
    const client = await feed.openEvents();
    await holdBack();
    await insert();
    await feed.until(() => expect(client.ids()).toEqual([2]));
    for (let polls = 0; polls < 15; polls++) {
      await untilAsleep(feed.server.deps, 2);
      feed.server.deps.clock.advance(2_000);
    }
    await commit();
    await feed.until(() => expect(client.ids()).toEqual([2, 1]));
  });

  it('is delivered together with more rows than one poll reads', async () => {
    const client = await feed.openEvents();
    await holdBack(450);
    await insert();
    await feed.until(() => expect(client.ids()).toEqual([451]));
    await commit();
    await feed.until(() => expect(client.ids()).toHaveLength(451));
    expect(new Set(client.ids()).size).toBe(451);
  });
});

describe('a late row for a client that resumes', () => {
  it.each([
    ['while other clients stay', true],
    ['over a pause without clients', false],
  ])('is delivered once %s', async (_name, withOther) => {
    const other = withOther ? await feed.openEvents() : null;
    const first = await feed.openEvents();
    await holdBack();
    await insert();
    await feed.until(() => expect(first.ids()).toEqual([2]));
    first.close();
    if (other === null) await untilAsleep(feed.server.deps, 0);
    await commit();
    await insert();
    if (other) await feed.until(() => expect(other.ids()).toEqual([2, 1, 3]));
    else feed.server.deps.clock.advance(29_000);

    const second = await feed.openEvents(undefined, { 'Last-Event-ID': first.lastId() });
    await insert();
    await feed.until(() => expect(second.ids()).toEqual([1, 3, 4]));
  });

  it('is delivered when it is committed after the client has reconnected', async () => {
    const first = await feed.openEvents();
    await holdBack();
    await insert();
    await feed.until(() => expect(first.ids()).toEqual([2]));
    first.close();
    await untilAsleep(feed.server.deps, 0);
    const second = await feed.openEvents(undefined, { 'Last-Event-ID': '2' });
    await commit();
    await insert();
    await feed.until(() => expect(second.ids()).toEqual([1, 3]));
  });

  it('is not sent to a new client after a pause', async () => {
    const first = await feed.openEvents();
    await holdBack();
    await insert();
    await feed.until(() => expect(first.ids()).toEqual([2]));
    first.close();
    await untilAsleep(feed.server.deps, 0);
    await commit();
    const second = await feed.openEvents();
    await insert();
    await feed.until(() => expect(second.ids()).toEqual([3]));
  });

  it('is not repeated for a client whose last row was sent after it', async () => {
    const first = await feed.openEvents();
    await holdBack();
    await insert();
    await feed.until(() => expect(first.ids()).toEqual([2]));
    await commit();
    await insert();
    await feed.until(() => expect(first.ids()).toEqual([2, 1, 3]));
    const second = await feed.openEvents(undefined, { 'Last-Event-ID': '3' });
    await insert();
    await feed.until(() => expect(second.ids()).toEqual([4]));
  });

  it('repeats rows instead of losing one when the late row was the last', async () => {
    const first = await feed.openEvents();
    await holdBack();
    await insert();
    await feed.until(() => expect(first.ids()).toEqual([2]));
    await commit();
    await feed.until(() => expect(first.ids()).toEqual([2, 1]));
    const second = await feed.openEvents(undefined, { 'Last-Event-ID': first.lastId() });
    await insert();
    await feed.until(() => expect(second.ids()).toEqual([2, 3]));
  });

  it('is delivered once when it is committed while older rows are read', async () => {
    await insert();
    await holdBack();
    await insert();
    feed.db.before(async ({ name }) => {
      if (name === 'replay_logs') await commit();
    });
    const client = await feed.openEvents('/api/logs/stream?after_id=1');
    await insert();
    await feed.until(() => expect(client.ids()).toEqual([3, 2, 4]));
  });
});

it('a late row is delivered once from a backlog that takes many polls', async () => {
  const client = await feed.openEvents();
  await holdBack();
  await sql(
    feed.database.db,
    'INSERT INTO execution_logs (message) SELECT n FROM generate_series(1, 900) AS n',
  );
  await feed.until(() => expect(client.ids()).toHaveLength(900));
  await commit();
  await feed.until(() => expect(client.ids().at(-1)).toBe(1));
  expect(client.ids()).toHaveLength(901);
});

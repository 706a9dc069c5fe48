import { describe, expect, it } from 'vitest';
import { withSecret } from '../support/deps.ts';

import { setUpLiveFeed } from '../support/live-feed.ts';
import { insertLog, sql } from '../support/records.ts';

const feed = setUpLiveFeed();

const insertLogs = (count: number) =>
  sql(
    feed.database.db,
    'INSERT INTO execution_logs (message) SELECT n FROM generate_series(1, $1) AS n',
    [count],
  );
const range = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, n) => first + n);

describe('a stream that resumes', () => {
  it.each<[string, string, Record<string, string>, number[]]>([
    ['the Last-Event-ID header', '', { 'Last-Event-ID': '3' }, [4, 5]],
    ['after_id', '?after_id=3', {}, [4, 5]],
    ['the header rather than after_id', '?after_id=1', { 'Last-Event-ID': '4' }, [5]],
    ['after_id beside an empty header', '?after_id=3', { 'Last-Event-ID': '' }, [4, 5]],
    ['0, before all rows', '?after_id=0', {}, [1, 2, 3, 4, 5]],
    ['an id with leading zeros', '?after_id=0000000000000000000000000003', {}, [4, 5]],
    ['the largest possible id', '?after_id=9223372036854775807', {}, []],
  ])('continues from %s', async (_name, query, headers, missed) => {
    await insertLogs(5);
    const client = await feed.openEvents(`/api/logs/stream${query}`, headers);
    await insertLog(feed.database.db);
    await feed.until(() => expect(client.ids()).toEqual([...missed, 6]));
  });

  it('gets only new rows with an empty Last-Event-ID', async () => {
    await insertLogs(5);
    const client = await feed.openEvents(undefined, { 'Last-Event-ID': '' });
    await insertLog(feed.database.db);
    await feed.until(() => expect(client.ids()).toEqual([6]));
  });

  it('gets at most the newest 1,000 rows', async () => {
    await insertLogs(1_500);
    const client = await feed.openEvents('/api/logs/stream?after_id=100');
    await feed.until(() => expect(client.ids()).toEqual(range(501, 1_500)));
  });

  it('gets each row once that is written while older rows are read', async () => {
    await insertLogs(500);
    feed.db.before(async ({ name }) => {
      // Before the replay is read, in three transactions, which the poller reads meanwhile.
      if (name !== 'replay_logs') return;
      for (let n = 0; n < 3; n++) await insertLogs(100);
      const before = feed.db.statements.length;
      feed.server.deps.clock.advance(2_000);
      await feed.until(() => {
        expect(
          feed.db.statements.slice(before).filter((it) => it === 'poll_logs').length,
        ).toBeGreaterThan(2);
      });
    });
    const client = await feed.openEvents('/api/logs/stream?after_id=10');
    await insertLog(feed.database.db);
    await feed.until(() => expect(client.ids()).toEqual(range(11, 801)));
  });

  it('needs one query more than a stream that does not resume', async () => {
    await insertLogs(5);
    await feed.openEvents('/api/logs/stream?after_id=1');
    expect(feed.db.statements).toEqual(['end_of_logs', 'replay_logs']);
  });

  it('continues where its connection broke off, when an EventSource reconnects', async () => {
    const first = await feed.openEvents();
    await insertLogs(3);
    await feed.until(() => expect(first.ids()).toEqual([1, 2, 3]));
    first.close();
    await insertLogs(2);
    const second = await feed.openEvents(undefined, { 'Last-Event-ID': first.lastId() });
    await feed.until(() => expect(second.ids()).toEqual([4, 5]));
  });
});

describe('an id to resume from', () => {
  it.each<[string, string, Record<string, string>]>([
    ['a negative header', '', { 'Last-Event-ID': '-1' }],
    ['a header that is not a number', '', { 'Last-Event-ID': 'x' }],
    ['a fraction', '', { 'Last-Event-ID': '1.5' }],
    ['another notation', '', { 'Last-Event-ID': '0x10' }],
    ['two ids', '', { 'Last-Event-ID': '1, 2' }],
    ['a negative after_id', '?after_id=-1', {}],
    ['an empty after_id', '?after_id=', {}],
    ['a space', '?after_id=%201', {}],
    ['a plus sign', '?after_id=%2B1', {}],
    ['a repeated after_id', '?after_id=1&after_id=2', {}],
    ['digits of another script', '?after_id=%D9%A1', {}],
    ['more than 64 bits', '?after_id=9223372036854775808', {}],
    ['a header of more than 64 bits', '', { 'Last-Event-ID': '99999999999999999999' }],
    ['a malformed after_id beside a good header', '?after_id=x', { 'Last-Event-ID': '1' }],
    ['a malformed header beside a good after_id', '?after_id=1', { 'Last-Event-ID': 'x' }],
  ])('is rejected with 400 if it is %s', async (_name, query, headers) => {
    const response = await fetch(`${feed.server.url}/api/logs/stream${query}`, {
      headers: { ...withSecret, ...headers },
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      error: expect.stringMatching(/^(last-event-id|after_id) must be /),
      request_id: response.headers.get('x-request-id'),
      details: [{ path: expect.any(String), message: expect.stringMatching(/^must be /) }],
    });
    expect(feed.db.statements).toEqual([]);
  });
});

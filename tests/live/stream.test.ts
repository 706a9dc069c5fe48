import { describe, expect, it, vi } from 'vitest';
import { withSecret } from '../support/deps.ts';
import { openRawStream, requestOf, startLive, untilAsleep, watch } from '../support/live.ts';
import { setUpLiveFeed } from '../support/live-feed.ts';
import { connectRaw } from '../support/raw-client.ts';
import { insertLog } from '../support/records.ts';

const feed = setUpLiveFeed();

/** The body of a raw stream so far, without chunk lengths. */
const bodyOf = (received: string) =>
  received
    .slice(received.indexOf('\r\n\r\n') + 4)
    .replaceAll(/\r\n[0-9a-f]+\r\n|^[0-9a-f]+\r\n|\r\n$/g, '');

describe('the log stream', () => {
  it('has the headers of an event stream and the request id', async () => {
    const response = await fetch(`${feed.server.url}/api/logs/stream`, {
      headers: { ...withSecret, 'X-Request-ID': 'mine' },
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(response.headers.get('cache-control')).toBe('no-cache');
    expect(response.headers.get('x-accel-buffering')).toBe('no');
    expect(response.headers.get('x-request-id')).toBe('mine');
    await response.body?.cancel();
  });

  it('answers HEAD with headers only', async () => {
    const response = await fetch(`${feed.server.url}/api/logs/stream`, {
      method: 'HEAD',
      headers: withSecret,
    });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(await response.text()).toBe('');
  });

  it('starts with the reconnection time, then sends each row as id, event and data', async () => {
    const client = await openRawStream(feed.server);
    await insertLog(feed.database.db, {
      level: 'Warn',
      message: 'one\r\ntwo\n\ndata: three',
      repository: 'o/r',
      created_at: '2026-01-02 03:04:05.123456+00',
    });
    await insertLog(feed.database.db, { message: 'four', created_at: '2026-01-02 03:04:05+00' });
    await feed.until(() => expect(client.received()).toContain('"id":2'));
    expect(bodyOf(client.received()).replaceAll(': ping\n\n', '')).toBe(
      [
        'retry: 5000\n\n',
        'id: 1\nevent: log\n',
        'data: {"type":"log","id":1,"level":"Warn","message":"one\\r\\ntwo\\n\\ndata: three","repository":"o/r","timestamp":"2026-01-02T03:04:05.123456Z"}\n\n',
        'id: 2\nevent: log\n',
        'data: {"type":"log","id":2,"level":"info","message":"four","repository":"","timestamp":"2026-01-02T03:04:05.000000Z"}\n\n',
      ].join(''),
    );
    client.socket.destroy();
  });

  it('is understood by an EventSource', async () => {
    const client = await feed.openEvents();
    await insertLog(feed.database.db, { message: 'hello' });
    await feed.until(() => expect(client.messages).toHaveLength(1));
    expect(client.messages[0]).toMatchObject({ type: 'log', message: 'hello', repository: '' });
    expect(client.lastId()).toBe('1');
  });

  it('sends only rows written after the request', async () => {
    await insertLog(feed.database.db);
    const first = await feed.openEvents();
    await insertLog(feed.database.db);
    // Nothing has polled since, so the row is old for the second client and new for the first.
    const second = await feed.openEvents();
    await insertLog(feed.database.db);
    await feed.until(() => expect(second.ids()).toEqual([3]));
    expect(first.ids()).toEqual([2, 3]);
  });

  it('writes the rows of one poll at once', async () => {
    const client = await openRawStream(feed.server);
    const chunks: string[] = [];
    client.socket.on('data', (chunk) => chunks.push(String(chunk)));
    await untilAsleep(feed.server.deps, 2);
    for (let n = 0; n < 5; n++) await insertLog(feed.database.db);
    await feed.until(() => expect(client.received()).toContain('"id":5'));
    const withRows = chunks.filter((chunk) => chunk.includes('event: log'));
    expect(withRows).toHaveLength(1);
    client.socket.destroy();
  });
});

describe('an open log stream', () => {
  it('gets a ping every 15 seconds and ends after 5 minutes', async () => {
    const client = await openRawStream(feed.server);
    const pings = () => client.received().split(': ping\n\n').length - 1;
    for (let ping = 1; ping < 20; ping++) {
      await untilAsleep(feed.server.deps, 2);
      feed.server.deps.clock.advance(14_999);
      await untilAsleep(feed.server.deps, 2);
      expect(pings()).toBe(ping - 1);
      feed.server.deps.clock.advance(1);
      await client.until(new RegExp(`(: ping\\n\\n[^]*){${ping}}`));
    }
    await untilAsleep(feed.server.deps, 2);
    feed.server.deps.clock.advance(15_000);
    // The end of the chunked body.
    expect(await client.until(/\r\n0\r\n\r\n$/)).not.toContain('error');
    expect(pings()).toBe(19);
    // A page sees no comments.
    const heartbeats = client
      .received()
      .match(/event: heartbeat\ndata: \{"type":"heartbeat"\}\n\n/g);
    expect(heartbeats).toHaveLength(19);
    client.socket.destroy();
  });

  it.each([
    ['SSE_MAX_DURATION_SECONDS', { environment: { SSE_MAX_DURATION_SECONDS: '40' } }, 40_000],
    ["a few seconds before the platform's limit", { platformLimitMs: 60_000 }, 55_000],
  ])('ends after %s', async (_name, options, ms) => {
    const limited = await startLive({ db: feed.database.db, ...options });
    const client = await openRawStream(limited);
    await untilAsleep(limited.deps, 2);
    limited.deps.clock.advance(ms - 1);
    await client.until(/: ping/);
    expect(client.received()).not.toMatch(/\r\n0\r\n\r\n$/);
    await untilAsleep(limited.deps, 2);
    limited.deps.clock.advance(1);
    await client.until(/\r\n0\r\n\r\n$/);
    client.socket.destroy();
    await limited.close();
  });

  it('does not log a server error when its client leaves before it is admitted', async () => {
    const gate = Promise.withResolvers<void>();
    const db = watch(feed.database.db);
    db.before(() => gate.promise);
    const slow = await startLive({ db });
    const client = await connectRaw(slow.port);
    client.send(requestOf('/api/logs/stream', withSecret));
    await vi.waitFor(() => expect(db.statements).toHaveLength(1));
    client.socket.destroy();
    const answered = vi.waitFor(async () =>
      expect(await slow.deps.metrics.render()).toContain(
        'route="/api/logs/stream",status="400"} 1',
      ),
    );
    await answered.finally(() => gate.resolve());
    expect(slow.deps.logged).toEqual([]);
    await slow.close();
  });

  it('leaves its connection usable for the next request', async () => {
    const client = await openRawStream(feed.server);
    await untilAsleep(feed.server.deps, 2);
    feed.server.deps.clock.advance(300_000);
    await client.until(/\r\n0\r\n\r\n$/);
    client.send('GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(await client.until(/HTTP\/1\.1 404/)).toBeTruthy();
    client.socket.destroy();
  });
});

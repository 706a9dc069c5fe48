import { describe, expect, it, vi } from 'vitest';
import { withSecret } from '../support/deps.ts';
import { openRawStream, requestOf, untilAsleep } from '../support/live.ts';
import { setUpLiveFeed } from '../support/live-feed.ts';
import { connectRaw } from '../support/raw-client.ts';

const feed = setUpLiveFeed();

describe('a shutdown', () => {
  it('ends streams properly without waiting for them', async () => {
    const client = await openRawStream(feed.server);
    // The clock stands still, so anything that waited for time would wait for ever.
    await feed.server.shutDown();
    expect(await client.ended()).toMatch(/\r\n0\r\n\r\n$/);
    expect(feed.server.deps.logged).toEqual([]);
  });

  it('closes WebSockets with 1001', async () => {
    const { closed } = await feed.openSocket();
    await feed.server.shutDown();
    expect(await closed).toBe(1001);
  });

  it('cuts off a WebSocket that does not answer within 10 seconds', async () => {
    const { ws, closed } = await feed.openSocket();
    await untilAsleep(feed.server.deps, 2);
    ws.pause();
    const down = feed.server.shutDown();
    // The deadlines of the WebSocket and of the server.
    await untilAsleep(feed.server.deps, 2);
    feed.server.deps.clock.advance(10_000);
    await down;
    // The close frame was sent, although the client did not read it.
    ws.resume();
    expect(await closed).toBe(1001);
  });

  it('answers 503 to clients that are not yet admitted', async () => {
    const gate = Promise.withResolvers<void>();
    feed.db.before(() => gate.promise);
    const answer = fetch(`${feed.server.url}/api/logs/stream`, { headers: withSecret });
    while (feed.db.statements.length === 0) await new Promise(setImmediate);
    const late = fetch(`${feed.server.url}/api/logs/stream`, { headers: withSecret });
    while (!(await feed.server.deps.metrics.render()).includes('in_flight 2'))
      await new Promise(setImmediate);
    const down = feed.server.shutDown();
    expect((await late).status).toBe(503);
    gate.resolve();
    expect((await answer).status).toBe(503);
    await down;
  });

  it('does not wait for a client that left while its rows were read', async () => {
    const gate = Promise.withResolvers<void>();
    feed.db.before(({ name }) => (name === 'replay_logs' ? gate.promise : undefined));
    const client = await connectRaw(feed.server.port);
    client.send(requestOf('/api/logs/stream?after_id=0', withSecret));
    await vi.waitFor(() => expect(feed.db.statements).toContain('replay_logs'));
    client.socket.destroy();
    // The poller no longer waits for anybody.
    await untilAsleep(feed.server.deps, 0);
    gate.resolve();
    await vi.waitFor(async () =>
      expect(await feed.server.deps.metrics.render()).toContain('http_requests_in_flight 0'),
    );
    await feed.server.shutDown();
  });

  it('stops polling', async () => {
    await openRawStream(feed.server);
    await feed.server.shutDown();
    await untilAsleep(feed.server.deps, 0);
  });
});

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createPostgres, type TestDatabase } from '../support/databases.ts';
import { withSecret } from '../support/deps.ts';
import {
  type LiveServer,
  openRawStream,
  openSocket,
  requestOf,
  startLive,
  untilAsleep,
  type WatchedDatabase,
  watch,
} from '../support/live.ts';
import { connectRaw } from '../support/raw-client.ts';

let database: TestDatabase;
let db: WatchedDatabase;
let server: LiveServer;

beforeAll(async () => {
  database = await createPostgres();
});
afterAll(() => database.close());
beforeEach(async () => {
  db = watch(database.db);
  server = await startLive({ db });
});
afterEach(() => server.close());

describe('a shutdown', () => {
  it('ends streams in an orderly way and waits for none of them', async () => {
    const client = await openRawStream(server);
    // The clock stands still: whatever waited for time would wait for ever.
    await server.shutDown();
    expect(await client.ended()).toMatch(/\r\n0\r\n\r\n$/);
    expect(server.deps.logged).toEqual([]);
  });

  it('closes WebSockets with 1001', async () => {
    const { closed } = await openSocket(server);
    await server.shutDown();
    expect(await closed).toBe(1001);
  });

  it('cuts a WebSocket after 10 seconds that does not answer', async () => {
    const { ws, closed } = await openSocket(server);
    await untilAsleep(server.deps, 2);
    ws.pause();
    const down = server.shutDown();
    // The deadline of the WebSocket and that of the server.
    await untilAsleep(server.deps, 2);
    server.deps.clock.advance(10_000);
    await down;
    // It had been told, though it did not listen.
    ws.resume();
    expect(await closed).toBe(1001);
  });

  it('answers 503 to who has not been let in yet', async () => {
    const gate = Promise.withResolvers<void>();
    db.before(() => gate.promise);
    const answer = fetch(`${server.url}/api/logs/stream`, { headers: withSecret });
    while (db.statements.length === 0) await new Promise(setImmediate);
    const late = fetch(`${server.url}/api/logs/stream`, { headers: withSecret });
    while (!(await server.deps.metrics.render()).includes('in_flight 2'))
      await new Promise(setImmediate);
    const down = server.shutDown();
    expect((await late).status).toBe(503);
    gate.resolve();
    expect((await answer).status).toBe(503);
    await down;
  });

  it('does not wait for a client that left while its rows were read', async () => {
    const gate = Promise.withResolvers<void>();
    db.before(({ name }) => (name === 'replay_logs' ? gate.promise : undefined));
    const client = await connectRaw(server.port);
    client.send(requestOf('/api/logs/stream?after_id=0', withSecret));
    await vi.waitFor(() => expect(db.statements).toContain('replay_logs'));
    client.socket.destroy();
    // The poller rests for no one.
    await untilAsleep(server.deps, 0);
    gate.resolve();
    await vi.waitFor(async () =>
      expect(await server.deps.metrics.render()).toContain('http_requests_in_flight 0'),
    );
    await server.shutDown();
  });

  it('polls no more', async () => {
    await openRawStream(server);
    await server.shutDown();
    await untilAsleep(server.deps, 0);
  });
});

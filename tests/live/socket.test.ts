import { once } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { withSecret } from '../support/deps.ts';
import { openSocket, requestOf, startLive, untilAsleep, watch } from '../support/live.ts';
import { setUpLiveFeed } from '../support/live-feed.ts';
import { connectRaw } from '../support/raw-client.ts';
import { insertLog } from '../support/records.ts';

const feed = setUpLiveFeed({
  environment: { WS_ALLOWED_ORIGINS: 'https://dashboard.example, http://localhost:3000/' },
});

const handshake = {
  Upgrade: 'websocket',
  Connection: 'Upgrade',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Version': '13',
};

/** The complete answer to a rejected request, after which the connection ends. */
async function answerTo(headers: Record<string, string>, { port } = feed.server): Promise<string> {
  const client = await connectRaw(port);
  client.send(requestOf('/ws/live', headers));
  return client.ended();
}

describe('a WebSocket', () => {
  it('gets one text message for each new row, and no history', async () => {
    await insertLog(feed.database.db);
    const { messages } = await feed.openSocket();
    await insertLog(feed.database.db, {
      level: 'ERROR',
      message: 'a\nb',
      created_at: '2026-01-02 03:04:05.123456+00',
    });
    await insertLog(feed.database.db, { repository: 'o/r' });
    await feed.until(() => expect(messages).toHaveLength(2));
    expect(messages[0]).toEqual({
      type: 'log',
      id: 2,
      level: 'ERROR',
      message: 'a\nb',
      repository: '',
      timestamp: '2026-01-02T03:04:05.123456Z',
    });
    expect(messages[1]).toMatchObject({ id: 3, repository: 'o/r' });
  });

  it('is answered with the request id, and counts as 101 in the metrics', async () => {
    const client = await connectRaw(feed.server.port);
    client.send(requestOf('/ws/live', { ...handshake, ...withSecret, 'X-Request-ID': 'mine' }));
    const answer = await client.until(/\r\n\r\n/);
    expect(answer).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/);
    expect(answer).toContain('Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
    expect(answer).toContain('x-request-id: mine');
    expect(await feed.server.deps.metrics.render()).toContain('route="/ws/live",status="101"} 1');
    client.socket.destroy();
  });

  it('ignores messages from its client', async () => {
    const { ws, ids } = await feed.openSocket();
    ws.send('{"type":"subscribe"}');
    ws.send(Buffer.alloc(64 * 1024));
    await insertLog(feed.database.db);
    await feed.until(() => expect(ids()).toEqual([1]));
  });

  it('is closed with 1009 by a message above 64 KiB, in one frame or several', async () => {
    const whole = await feed.openSocket();
    whole.ws.send(Buffer.alloc(64 * 1024 + 1));
    expect(await whole.closed).toBe(1009);
    const split = await feed.openSocket();
    split.ws.send(Buffer.alloc(64 * 1024), { fin: false });
    split.ws.send(Buffer.alloc(1), { fin: true });
    expect(await split.closed).toBe(1009);
  });

  it('is closed with 1002 by bytes that are not a frame', async () => {
    const client = await connectRaw(feed.server.port);
    client.send(requestOf('/ws/live', { ...handshake, ...withSecret }));
    await client.until(/\r\n\r\n/);
    client.send('this is no frame');
    expect(await client.ended()).toContain(Buffer.from([1002 >> 8, 1002 & 255]).toString('latin1'));
  });

  it('is no longer polled for after its client leaves', async () => {
    const { ws } = await feed.openSocket();
    await untilAsleep(feed.server.deps, 2);
    ws.close();
    await untilAsleep(feed.server.deps, 0);
  });

  it('is not polled for after its client leaves during the handshake', async () => {
    const gate = Promise.withResolvers<void>();
    const db = watch(feed.database.db);
    db.before(() => gate.promise);
    const slow = await startLive({ db });
    const client = await connectRaw(slow.port);
    client.send(requestOf('/ws/live', { ...handshake, ...withSecret }));
    await vi.waitFor(() => expect(db.statements).toHaveLength(1));
    client.socket.destroy();
    gate.resolve();
    await untilAsleep(slow.deps, 0);
    expect(db.statements).toHaveLength(1);
    await slow.close();
  });
});

describe('an open WebSocket', () => {
  it('gets a ping every 30 seconds, and stays open while they are answered', async () => {
    const { ws, ids } = await feed.openSocket();
    for (let ping = 0; ping < 4; ping++) {
      await untilAsleep(feed.server.deps, 2);
      const pinged = once(ws, 'ping');
      feed.server.deps.clock.advance(30_000);
      await pinged;
    }
    await insertLog(feed.database.db);
    await feed.until(() => expect(ids()).toEqual([1]));
  });

  it('ends 75 seconds after the last sign of life', async () => {
    const { ws, closed } = await feed.openSocket(withSecret, { autoPong: false });
    await untilAsleep(feed.server.deps, 2);
    feed.server.deps.clock.advance(20_000);
    const seen = once(ws, 'pong');
    ws.ping();
    await seen;
    await untilAsleep(feed.server.deps, 2);
    feed.server.deps.clock.advance(74_999);
    await untilAsleep(feed.server.deps, 2);
    expect(ws.readyState).toBe(ws.OPEN);
    feed.server.deps.clock.advance(1);
    expect(await closed).toBe(1006);
  });

  it("ends with 1001 a few seconds before the platform's limit", async () => {
    const limited = await startLive({ db: feed.database.db, platformLimitMs: 25_000 });
    const { closed } = await openSocket(limited);
    await untilAsleep(limited.deps, 2);
    limited.deps.clock.advance(19_999);
    await untilAsleep(limited.deps, 2);
    limited.deps.clock.advance(1);
    expect(await closed).toBe(1001);
    await limited.close();
  });
});

describe('the origin of a handshake', () => {
  it.each([
    ['none', {}],
    ['a listed one', { Origin: 'https://dashboard.example' }],
    ['a listed one in other case', { Origin: 'https://Dashboard.EXAMPLE' }],
    ['one listed with a slash', { Origin: 'http://localhost:3000' }],
  ])('is accepted: %s', async (_name, headers) => {
    await feed.openSocket({ ...withSecret, ...headers });
  });

  it.each([
    'https://evil.example',
    'https://dashboard.example.evil.example',
    'http://dashboard.example',
    'https://dashboard.example:8443',
    'null',
    '',
  ])('is rejected with 403: %s', async (origin) => {
    const answer = await answerTo({ ...handshake, ...withSecret, Origin: origin });
    expect(answer).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
    const body = JSON.parse(answer.slice(answer.indexOf('{')));
    expect(Object.keys(body)).toEqual(['error', 'request_id']);
    expect(answer).toContain(`x-request-id: ${body.request_id}`);
  });

  it('may be anything with *', async () => {
    const open = await startLive({
      db: feed.database.db,
      environment: { WS_ALLOWED_ORIGINS: '*' },
    });
    const { ws } = await openSocket(open, { ...withSecret, Origin: 'https://evil.example' });
    ws.terminate();
    await open.close();
  });

  it.each(['http://localhost:3000', 'http://localhost:8080'])(
    'may be %s by default',
    async (origin) => {
      const plain = await startLive({ db: feed.database.db });
      const { ws } = await openSocket(plain, { ...withSecret, Origin: origin });
      ws.terminate();
      await plain.close();
    },
  );
});

describe('a request for /ws/live without a handshake', () => {
  it.each<[string, Record<string, string>, number]>([
    ['an ordinary GET', { Connection: 'close' }, 426],
    ['another protocol', { Upgrade: 'h2c', Connection: 'Upgrade, close' }, 426],
    ['another version', { ...handshake, 'Sec-WebSocket-Version': '7' }, 426],
    ['no key', { ...handshake, 'Sec-WebSocket-Key': '' }, 400],
    ['a malformed key', { ...handshake, 'Sec-WebSocket-Key': 'short' }, 400],
    ['a malformed protocol', { ...handshake, 'Sec-WebSocket-Protocol': 'a,,b' }, 400],
  ])('is rejected: %s', async (_name, headers, status) => {
    const answer = await answerTo({ ...headers, ...withSecret });
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(JSON.parse(answer.slice(answer.indexOf('{')))).toMatchObject({
      error: expect.any(String),
      request_id: expect.any(String),
    });
    if (status === 426) expect(answer.toLowerCase()).toContain('upgrade: websocket');
    await untilAsleep(feed.server.deps, 0);
  });
});

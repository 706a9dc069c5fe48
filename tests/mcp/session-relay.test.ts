import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  createSessionRelay,
  MAX_WAITING,
  SESSION_TTL_SECONDS,
} from '../../lib/mcp/transports/session-relay.ts';
import { openRedis } from '../../lib/rate-limits/redis.ts';
import { createTestClock } from '../support/clock.ts';
import { connectSse, createTestMcpApp, listenMcp, TEST_TOKEN, withToken } from '../support/mcp.ts';
import { hasRedisServer } from '../support/redis-server.ts';
import { startUpstashRest, type UpstashRest } from '../support/upstash-rest.ts';

const ping = { jsonrpc: '2.0', id: 7, method: 'ping' } as const;

describe.skipIf(!hasRedisServer)('an MCP session over several instances', () => {
  let rest: UpstashRest;
  beforeAll(async () => {
    rest = await startUpstashRest();
  });
  afterAll(() => rest.close());
  beforeEach(() => {
    rest.mode = 'serve';
  });
  afterEach(() => rest.send(['FLUSHALL']));

  const openRelay = (token = TEST_TOKEN) => {
    const redis = openRedis(rest.environment, { timeoutMs: 30_000 });
    if (!redis) throw new Error('no Redis is configured');
    return createSessionRelay(redis, token);
  };

  it('lets the official client post to one instance and listen to another', async () => {
    const clock = createTestClock();
    const environment = rest.environment;
    const [one, two] = await Promise.all([
      listenMcp(createTestMcpApp({ environment, clock }).app),
      listenMcp(createTestMcpApp({ environment, clock }).app),
    ]);
    // Every poll that is due finds the messages posted meanwhile.
    let polling = true;
    const poll = (async () => {
      while (polling) {
        clock.advance(100);
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    const client = await connectSse(`${one.url}/sse`, (address, init) =>
      fetch(String(address).replace(one.url, two.url), init),
    );
    const given = { name: 'echo', arguments: { text: 'over two instances' } };
    expect((await client.callTool(given)).structuredContent).toEqual(given.arguments);
    await client.close();
    polling = false;
    await poll;
    await Promise.all([one.close(), two.close()]);
  });

  it('is unknown before it opens, after it closes and with another token', async () => {
    const relay = openRelay();
    expect(await relay.post('a', ping)).toBe('unknown');
    await relay.open('a');
    expect(await relay.post('a', ping)).toBe('accepted');
    expect(await relay.post('b', ping)).toBe('unknown');
    expect(await openRelay('another-token').post('a', ping)).toBe('unknown');
    await relay.close('a');
    expect(await relay.post('a', ping)).toBe('unknown');
    expect(await rest.send(['KEYS', '*'])).toEqual([]);
  });

  it('delivers messages once and in order', async () => {
    const relay = openRelay();
    await relay.open('a');
    for (const id of [1, 2, 3]) await relay.post('a', { ...ping, id });
    expect(await relay.take('a')).toEqual([1, 2, 3].map((id) => ({ ...ping, id })));
    expect(await relay.take('a')).toEqual([]);
    await relay.post('a', ping);
    expect(await relay.take('a')).toEqual([ping]);
  });

  it('has at most 64 waiting messages', async () => {
    const relay = openRelay();
    await relay.open('a');
    const deliveries = [];
    for (let id = 0; id < MAX_WAITING + 3; id++)
      deliveries.push(await relay.post('a', { ...ping, id }));
    expect(deliveries.filter((delivery) => delivery === 'accepted')).toHaveLength(MAX_WAITING);
    expect(deliveries.slice(-3)).toEqual(['full', 'full', 'full']);
    expect(await relay.take('a')).toHaveLength(MAX_WAITING);
  });

  it('is dropped when it is not renewed', async () => {
    const relay = openRelay();
    await relay.open('a');
    const [key] = (await rest.send(['KEYS', '*'])) as string[];
    const timeToLive = () => rest.send(['TTL', key]);
    expect(await timeToLive()).toBe(SESSION_TTL_SECONDS);
    await rest.send(['EXPIRE', key, 5]);
    await relay.renew('a');
    expect(await timeToLive()).toBe(SESSION_TTL_SECONDS);
  });

  it('reopens on renewal when Redis has lost it', async () => {
    const relay = openRelay();
    await relay.open('a');
    await rest.send(['FLUSHALL']);
    expect(await relay.post('a', ping)).toBe('unknown');
    await relay.renew('a');
    expect(await relay.post('a', ping)).toBe('accepted');
    expect(await relay.take('a')).toEqual([ping]);
    const [key] = (await rest.send(['KEYS', '*'])) as string[];
    expect(await rest.send(['TTL', key])).toBe(SESSION_TTL_SECONDS);
  });

  it('stores neither its id nor the token in Redis', async () => {
    await openRelay().open('the-session-id');
    const keys = JSON.stringify(await rest.send(['KEYS', '*']));
    expect(keys).toContain('mcp:session:');
    expect(keys).not.toContain('the-session-id');
    expect(keys).not.toContain(TEST_TOKEN);
  });

  async function openSession(app: ReturnType<typeof createTestMcpApp>['app']) {
    const response = await app.request('/sse', { headers: withToken });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    const [, endpoint = ''] = /data: (\S+)/.exec((await reader?.read())?.value ?? '') ?? [];
    return { reader, endpoint };
  }
  const post = (app: ReturnType<typeof createTestMcpApp>['app'], endpoint: string) =>
    app.request(endpoint, { method: 'POST', headers: withToken, body: JSON.stringify(ping) });

  it('works in its own instance while Redis is down, which is logged', async () => {
    rest.mode = 'fail';
    const { app, deps } = createTestMcpApp({ environment: rest.environment });
    const { reader, endpoint } = await openSession(app);
    expect((await post(app, endpoint)).status).toBe(202);
    expect((await reader?.read())?.value).toContain('"id":7');
    expect(deps.logged[0]).toMatchObject({ level: 'warn' });
    const { app: other } = createTestMcpApp({ environment: rest.environment });
    expect((await post(other, endpoint)).status).toBe(503);
    await reader?.cancel();
  });

  it('gets 404 from another instance once it has ended, and 503 when too many messages wait', async () => {
    const [{ app: one, deps }, { app: two }] = [
      createTestMcpApp({ environment: rest.environment }),
      createTestMcpApp({ environment: rest.environment }),
    ];
    const { reader, endpoint } = await openSession(one);
    for (let n = 0; n < MAX_WAITING; n++) expect((await post(two, endpoint)).status).toBe(202);
    expect((await post(two, endpoint)).status).toBe(503);
    const answers = rest.requests;
    await reader?.cancel();
    while (rest.requests === answers) await new Promise((resolve) => setImmediate(resolve));
    expect((await post(two, endpoint)).status).toBe(404);
    expect(deps.clock.sleepers()).toBe(0);
  });

  it('is not shared by the local sse server', async () => {
    const { app } = createTestMcpApp({ environment: rest.environment }, { serve: 'sse' });
    const { reader, endpoint } = await openSession(app);
    expect(await rest.send(['KEYS', 'mcp:*'])).toEqual([]);
    const { app: other } = createTestMcpApp({ environment: rest.environment });
    expect((await post(other, endpoint)).status).toBe(404);
    await reader?.cancel();
  });

  it('polls less and less often while no messages arrive', async () => {
    const { app, deps } = createTestMcpApp({ environment: rest.environment });
    const { reader } = await openSession(app);
    const requests = async (ms: number) => {
      const before = rest.requests;
      for (let passed = 0; passed < ms; passed += 100) {
        deps.clock.advance(100);
        // Until the poll, if it was due, sleeps again, next to the keepalive and the renewal.
        while (deps.clock.sleepers() < 3) await new Promise((resolve) => setImmediate(resolve));
      }
      return rest.requests - before;
    };
    const early = await requests(3_000);
    await requests(7_000);
    const late = await requests(6_000);
    expect(early).toBeGreaterThan(6);
    expect(late).toBeLessThanOrEqual(4);
    await reader?.cancel();
  });
});

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { readConfig } from '../../lib/config/read.ts';
import { redisVariables } from '../../lib/config/redis.ts';
import { createLog } from '../../lib/log/log.ts';
import type { RateLimiter } from '../../lib/rate-limits/rate-count.ts';
import { createRateLimiter } from '../../lib/rate-limits/rate-limiter.ts';
import { openRedis } from '../../lib/rate-limits/redis.ts';
import { createTestClock } from '../support/clock.ts';
import { hasRedisServer } from '../support/redis-server.ts';
import { startUpstashRest, type UpstashRest } from '../support/upstash-rest.ts';

const countTimes = async (limiter: RateLimiter, times: number, address: string) => {
  const counts = await Promise.all(
    Array.from({ length: times }, () => limiter.count('anonymous', address)),
  );
  return counts.filter(({ allowed }) => allowed).length;
};

async function countOthers(limiter: RateLimiter, prefix: string, times: number): Promise<void> {
  for (let index = 0; index < times; index += 1) {
    await limiter.count('anonymous', `${prefix} ${index}`);
  }
}

describe('the rate limiter in the process', () => {
  it.each([
    ['remembers the last 20,000 addresses', 19_999, 98],
    ['remembers at most twice as many', 40_000, 99],
  ])('%s', async (_what, others, remaining) => {
    const clock = createTestClock();
    const log = createLog('error', clock);
    const limiter = createRateLimiter({ redis: null, log, clock });
    // Enough earlier addresses to make the cache evict half of its entries as early as possible.
    await countOthers(limiter, 'earlier', 19_999);
    await limiter.count('anonymous', 'first');
    await countOthers(limiter, 'later', others);
    expect(await limiter.count('anonymous', 'first')).toMatchObject({ remaining });
  });
});

describe.skipIf(!hasRedisServer)('the rate limiter in Redis', () => {
  let rest: UpstashRest;

  beforeAll(async () => {
    rest = await startUpstashRest();
  });
  afterAll(() => rest.close());
  beforeEach(async () => {
    rest.mode = 'serve';
    await rest.send(['FLUSHALL']);
    rest.requests = 0;
    // The library reads the time itself.
    vi.useFakeTimers({ toFake: ['Date'], now: createTestClock().now() });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** One instance of the service. Waits as long for Redis as a busy machine needs, unless a test is about waiting. */
  function createInstance(clock = createTestClock(), timeoutMs = 10_000) {
    const lines: string[] = [];
    const log = createLog('info', clock, (line) => lines.push(line));
    const redis = openRedis(readConfig(redisVariables, rest.environment), { timeoutMs });
    return { limiter: createRateLimiter({ redis, log, clock }), lines };
  }

  it('shares its counts between instances', async () => {
    const [one, other] = [createInstance(), createInstance()];
    expect(await countTimes(one.limiter, 60, '192.0.2.1')).toBe(60);
    expect(await countTimes(other.limiter, 60, '192.0.2.1')).toBe(40);
  });

  it('accepts a limit that overrides that of the kind', async () => {
    const { limiter } = createInstance();
    const counts = [1, 2, 3].map(() => limiter.count('mcpToken', 'one', 2));
    const allowed = (await Promise.all(counts)).map(({ allowed }) => allowed);
    expect(allowed.sort()).toEqual([false, true, true]);
    expect(await limiter.count('mcpToken', 'other')).toMatchObject({ limit: 600, remaining: 599 });
  });

  it('needs one round trip per request', async () => {
    const { limiter } = createInstance();
    await limiter.count('anonymous', '192.0.2.1');
    rest.requests = 0;
    await limiter.count('anonymous', '192.0.2.1');
    expect(rest.requests).toBe(1);
  });

  it('needs no round trip for an address that Redis has rejected', async () => {
    const { limiter } = createInstance();
    await countTimes(limiter, 101, '192.0.2.1');
    rest.requests = 0;
    expect(await countTimes(limiter, 10, '192.0.2.1')).toBe(0);
    expect(rest.requests).toBe(0);
  });

  it('starts over with the next minute', async () => {
    const clock = createTestClock();
    const { limiter } = createInstance(clock);
    await countTimes(limiter, 101, '192.0.2.1');
    clock.advance(60_000);
    vi.setSystemTime(clock.now());
    expect(await countTimes(limiter, 101, '192.0.2.1')).toBe(100);
  });

  it('returns when the window ends, and leaves nothing in Redis after it', async () => {
    const { limiter } = createInstance();
    const { resetsAt } = await limiter.count('forwarded', '192.0.2.1');
    expect(resetsAt).toBe(createTestClock().now() + 60_000);
    const keys = await rest.send(['KEYS', '*']);
    expect(keys).toEqual([expect.stringContaining('192.0.2.1')]);
    const ttl = await rest.send(['PTTL', String(keys)]);
    expect(ttl).toBeGreaterThan(0);
    expect(ttl).toBeLessThanOrEqual(60_000);
  });

  it.each(['fail', 'hang'] as const)(
    'counts in the process while Redis is in mode %s',
    async (mode) => {
      const clock = createTestClock();
      const { limiter, lines } = createInstance(clock, 200);
      rest.mode = mode;
      expect(await countTimes(limiter, 105, '192.0.2.1')).toBe(100);
      clock.advance(30_000);
      expect(await countTimes(limiter, 1, '192.0.2.1')).toBe(0);
      expect(lines).toHaveLength(1);
      expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'warn' });
      clock.advance(30_000);
      expect(await countTimes(limiter, 1, '192.0.2.1')).toBe(1);
      expect(lines).toHaveLength(2);
    },
  );

  it('avoids a failing Redis for a while, and then returns to it', async () => {
    const clock = createTestClock();
    const { limiter } = createInstance(clock);
    rest.mode = 'fail';
    await limiter.count('anonymous', '192.0.2.1');
    rest.mode = 'serve';
    rest.requests = 0;
    await limiter.count('anonymous', '192.0.2.1');
    expect(rest.requests).toBe(0);
    clock.advance(5_000);
    await limiter.count('anonymous', '192.0.2.1');
    expect(rest.requests).toBeGreaterThan(0);
  });
});

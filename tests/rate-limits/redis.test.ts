import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError, readConfig } from '../../lib/config/read.ts';
import { redisVariables } from '../../lib/config/redis.ts';
import { openRedis } from '../../lib/rate-limits/redis.ts';
import { hasRedisServer } from '../support/redis-server.ts';
import { startUpstashRest, type UpstashRest } from '../support/upstash-rest.ts';

const open = (environment: Record<string, string>, timeoutMs = 500) => {
  const redis = openRedis(readConfig(redisVariables, environment), { timeoutMs });
  if (!redis) throw new Error('Redis is not configured');
  return redis;
};

describe('the configuration of Redis', () => {
  it('is optional', () => {
    expect(openRedis(readConfig(redisVariables, {}))).toBeNull();
  });

  it('is rejected with the name of the missing variable if only one is set', () => {
    const half = readConfig(redisVariables, { UPSTASH_REDIS_REST_TOKEN: 'private' });
    expect(() => openRedis(half)).toThrow(ConfigError);
    expect(() => openRedis(half)).toThrow(/^UPSTASH_REDIS_REST_URL /);
    const other = readConfig(redisVariables, { UPSTASH_REDIS_REST_URL: 'https://redis.example' });
    expect(() => openRedis(other)).toThrow(/^UPSTASH_REDIS_REST_TOKEN /);
  });
});

describe.skipIf(!hasRedisServer)('the Redis client', () => {
  let rest: UpstashRest;

  beforeAll(async () => {
    rest = await startUpstashRest();
  });
  afterAll(() => rest.close());
  beforeEach(() => {
    rest.mode = 'serve';
    rest.requests = 0;
  });

  it('reads a value exactly as it was written', async () => {
    const redis = open(rest.environment);
    await redis.set('kept', { text: 'ünï', count: 3 });
    expect(await redis.get('kept')).toEqual({ text: 'ünï', count: 3 });
  });

  it('runs a transaction', async () => {
    const replies = await open(rest.environment).multi().set('counted', 1).incr('counted').exec();
    expect(replies).toEqual(['OK', 2]);
  });

  it('accepts the variable names of the platform', async () => {
    const redis = open({
      KV_REST_API_URL: rest.environment.UPSTASH_REDIS_REST_URL,
      KV_REST_API_TOKEN: rest.environment.UPSTASH_REDIS_REST_TOKEN,
    });
    expect(await redis.ping()).toBe('PONG');
  });

  it('does not retry a failed command', async () => {
    rest.mode = 'fail';
    await expect(open(rest.environment).get('kept')).rejects.toThrow('the bridge is down');
    expect(rest.requests).toBe(1);
  });

  it('does not retry if nothing listens', async () => {
    const redis = open({ ...rest.environment, UPSTASH_REDIS_REST_URL: 'http://127.0.0.1:9' });
    await expect(redis.get('kept')).rejects.toThrow();
  });

  // Must come last: abandoned commands may still arrive, and be counted.
  it('rejects if Redis does not answer in time', async () => {
    rest.mode = 'hang';
    await expect(open(rest.environment, 30).get('kept')).rejects.toThrow(/timeout/i);
  });
});

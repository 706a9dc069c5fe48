import { Redis } from '@upstash/redis';
import { ConfigError } from './config/read.ts';
import type { RedisConfig } from './config/redis.ts';

/** After this a command is given up. What Redis does for us has a fallback, so nobody waits for long. */
const REDIS_TIMEOUT_MS = 1_000;

/** How to reach Redis and how long to wait for an answer. */
export interface OpenRedisOptions {
  timeoutMs?: number;
}

/**
 * A client of Redis over REST, or null when it is not configured. Nothing is sent yet. A command that
 * fails or takes more than a second rejects, without another try. Throws ConfigError when only one of
 * the two variables is set.
 */
export function openRedis(
  { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token }: RedisConfig,
  { timeoutMs = REDIS_TIMEOUT_MS }: OpenRedisOptions = {},
): Redis | null {
  if (url === undefined && token === undefined) return null;
  if (url === undefined || token === undefined) {
    const missing = url === undefined ? 'UPSTASH_REDIS_REST_URL' : 'UPSTASH_REDIS_REST_TOKEN';
    throw new ConfigError(`${missing} must be set together with its other half`);
  }
  return new Redis({
    url,
    token,
    retry: { retries: 0 },
    // A function, because the client answers with a made-up result when a plain signal aborts.
    signal: () => AbortSignal.timeout(timeoutMs),
    enableTelemetry: false,
  });
}

import { Redis } from '@upstash/redis';
import { ConfigError } from '../config/read.ts';
import type { RedisConfig } from '../config/redis.ts';

/** Command timeout. Short, because all uses of Redis have a fallback. */
const REDIS_TIMEOUT_MS = 1_000;

export interface OpenRedisOptions {
  timeoutMs?: number;
}

/**
 * Creates a client for Redis over REST, or returns null when not configured. Commands reject on failure or
 * after a second, without retries. Throws ConfigError when only one of the two variables is set.
 */
export function openRedis(
  { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token }: RedisConfig,
  { timeoutMs = REDIS_TIMEOUT_MS }: OpenRedisOptions = {},
): Redis | null {
  if (url === undefined && token === undefined) return null;
  if (url === undefined || token === undefined) {
    const missing = url === undefined ? 'UPSTASH_REDIS_REST_URL' : 'UPSTASH_REDIS_REST_TOKEN';
    throw new ConfigError(
      `${missing} is missing: set both UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN, or neither`,
    );
  }
  return new Redis({
    url,
    token,
    retry: { retries: 0 },
    // A function, because the client returns a made-up result if a plain signal aborts.
    signal: () => AbortSignal.timeout(timeoutMs),
    enableTelemetry: false,
  });
}

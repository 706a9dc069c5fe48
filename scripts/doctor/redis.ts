import { randomUUID } from 'node:crypto';
import { redisVariables } from '../../lib/platform/config/redis.ts';
import { openRedis } from '../../lib/platform/redis.ts';
import { timed, withinLimit } from './measuring.ts';
import { type Check, named } from './report.ts';
import { type Subject, withConfig } from './subject.ts';

const WITHIN_MS = 5_000;

/** Redis, by writing something that is gone after 5 seconds: a token may be one for reading alone. */
export async function checkRedis(subject: Subject): Promise<Check> {
  const found = await withConfig(redisVariables, subject, async (config) => {
    const redis = openRedis(config, { timeoutMs: WITHIN_MS });
    if (redis === null) {
      return subject.isHosted
        ? {
            status: 'warning',
            effect: 'prevents',
            detail: 'not configured: each function instance counts limits and failed logins alone',
            next: 'make an Upstash Redis, and set UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN',
          }
        : { status: 'off', detail: 'not configured: one process needs none' };
    }
    return withinLimit(
      WITHIN_MS,
      subject.clock,
      async () => {
        const { latency_ms } = await timed(() =>
          redis.set(`backup-observatory:doctor:${randomUUID()}`, '1', { ex: 5 }),
        );
        return { status: 'ok', detail: 'answers and may be written', latency_ms };
      },
      (reason) => ({
        status: 'failed',
        detail: reason,
        next: 'correct UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN',
      }),
    );
  });
  return named('redis', found);
}

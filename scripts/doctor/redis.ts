import { randomUUID } from 'node:crypto';
import { redisVariables } from '../../lib/config/redis.ts';
import { openRedis } from '../../lib/rate-limits/redis.ts';
import { timed, withinLimit } from './measuring.ts';
import { type Check, failed, off, ok, toCheck, warning } from './report.ts';
import { type Subject, withConfig } from './subject.ts';

const WITHIN_MS = 5_000;

/** Checks Redis by writing a key that expires after 5 seconds, because a token may be read-only. */
export async function checkRedis(subject: Subject): Promise<Check> {
  const found = await withConfig(redisVariables, subject, async (config) => {
    const redis = openRedis(config, { timeoutMs: WITHIN_MS });
    if (redis === null) {
      return subject.isHosted
        ? warning(
            'not configured: each function instance counts requests and failed logins separately',
            'create an Upstash Redis, and set UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN',
            { effect: 'prevents' },
          )
        : off('not configured: not needed for a single process');
    }
    return withinLimit(
      WITHIN_MS,
      subject.clock,
      async () => {
        const { latency_ms } = await timed(() =>
          redis.set(`backup-observatory:doctor:${randomUUID()}`, '1', { ex: 5 }),
        );
        return ok('answers and is writable', { latency_ms });
      },
      (reason) => failed(reason, 'correct UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN'),
    );
  });
  return toCheck('redis', found);
}

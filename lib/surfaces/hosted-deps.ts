import type { Redis } from '@upstash/redis';
import { systemClock } from '../clock.ts';
import type { DatabaseConfig } from '../config/database.ts';
import type { RedisConfig } from '../config/redis.ts';
import { missingDatabase, openLazily } from '../database/open.ts';
import { buildDeps, type Deps } from '../http/deps.ts';
import type { Log } from '../log/log.ts';
import type { Redactor } from '../security/redaction/redactor.ts';

/** How long to stay alive for idle connections. */
const IDLE_TIMEOUT_MS = 5_000;

/**
 * Builds the dependencies of a deployed function. Without DATABASE_URL all queries fail with 503; there is no embedded
 * database here. Throws ConfigError if only one of the Redis variables is set, or if this runtime cannot connect to
 * the database.
 */
export async function buildHostedDeps<Config extends DatabaseConfig & RedisConfig>(
  config: Config,
  { log, redactor }: { log: Log; redactor: Redactor },
): Promise<Deps<Config>> {
  const url = config.DATABASE_URL;
  const db =
    url === undefined
      ? missingDatabase(log)
      : openLazily({
          ...{ url, fetch, log, maxConnections: config.DATABASE_POOL_SIZE },
          idleTimeoutMs: IDLE_TIMEOUT_MS,
          stayAwake: waitUntilOnPlatform,
        });
  return buildDeps({
    config,
    db,
    redis: await openRedisWhenSet(config),
    log,
    redactor,
    clock: systemClock,
    fetch,
    waitUntil: waitUntilOnPlatform,
  });
}

/** Loads the Redis client only if configured. Throws ConfigError if only one of the two variables is set. */
async function openRedisWhenSet(config: RedisConfig): Promise<Redis | null> {
  const { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token } = config;
  if (url === undefined && token === undefined) return null;
  return (await import('../rate-limits/redis.ts')).openRedis(config);
}

interface PlatformContext {
  get?: () => { waitUntil?: (work: Promise<unknown>) => void } | undefined;
}

/** Asks the platform, if there is one, to keep the function alive until the work is done. */
function waitUntilOnPlatform(work: Promise<unknown>): void {
  const context: PlatformContext | undefined = Reflect.get(
    globalThis,
    Symbol.for('@vercel/request-context'),
  );
  context?.get?.()?.waitUntil?.(work);
}

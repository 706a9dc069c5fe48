import type { Redis } from '@upstash/redis';
import { systemClock } from './clock.ts';
import type { DatabaseConfig } from './config/database.ts';
import type { RedisConfig } from './config/redis.ts';
import { missingDatabase, openWhenAsked } from './database/open.ts';
import { buildDeps, type Deps } from './deps.ts';
import type { Log } from './log.ts';
import type { Redactor } from './redaction.ts';

/** So long an instance is kept awake for connections that it may not need again. */
const IDLE_TIMEOUT_MS = 5_000;

/**
 * The handles of a deployed function. Without DATABASE_URL its database answers 503, never an embedded
 * one (decisions 2). Throws ConfigError when only half of Redis is configured, or
 * the database cannot be reached from this runtime.
 */
export async function buildHostedDeps<Config extends DatabaseConfig & RedisConfig>(
  config: Config,
  { log, redactor }: { log: Log; redactor: Redactor },
): Promise<Deps<Config>> {
  const url = config.DATABASE_URL;
  const db =
    url === undefined
      ? missingDatabase(log)
      : openWhenAsked({
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

/** Its client is loaded only where there is one to reach. Throws ConfigError when only half is set. */
async function openRedisWhenSet(config: RedisConfig): Promise<Redis | null> {
  const { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token } = config;
  if (url === undefined && token === undefined) return null;
  return (await import('./redis.ts')).openRedis(config);
}

interface PlatformContext {
  get?: () => { waitUntil?: (work: Promise<unknown>) => void } | undefined;
}

/** Asks the platform to keep the function alive; elsewhere the work goes on by itself. */
function waitUntilOnPlatform(work: Promise<unknown>): void {
  const context: PlatformContext | undefined = Reflect.get(
    globalThis,
    Symbol.for('@vercel/request-context'),
  );
  context?.get?.()?.waitUntil?.(work);
}

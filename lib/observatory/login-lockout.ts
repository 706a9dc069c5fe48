import type { Redis } from '@upstash/redis';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../platform/clock.ts';
import type { IdentityConfig } from '../platform/config/identity.ts';
import type { Deps } from '../platform/deps.ts';
import { AppError } from '../platform/errors.ts';
import { warnOccasionally } from '../platform/occasional-log.ts';

/** A login that was counted as failed before its password was looked at. */
export interface LoginAttempt {
  /** The login succeeded: the address starts anew. */
  succeed(): Promise<void>;
  /** The password was not looked at after all: the attempt does not count. */
  cancel(): Promise<void>;
}

/** Counts the failed logins of each address (spec 2, Limits; decisions 5). */
export interface LoginLockout {
  /**
   * Counts an attempt before it is made, so that guesses sent at once are no more than the limit.
   * Throws LOGIN_LOCKED with the true Retry-After when the address has used its failures up.
   */
  begin(address: string): Promise<LoginAttempt>;
}

/** Where failures are counted. Windows start with the first one and are not prolonged. */
interface FailureCounter {
  /** Adds one below the limit and returns null, else how many milliseconds the window still lasts. */
  reserve(address: string): Promise<number | null>;
  release(address: string): Promise<void>;
  clear(address: string): Promise<void>;
}

interface LockoutLimits {
  maxFailures: number;
  windowMs: number;
}

/** Most addresses that the process keeps; the least recently seen is forgotten. */
const MAX_ADDRESSES = 20_000;
/** For so long Redis is left alone after it failed. */
const REDIS_PAUSE_MS = 5_000;

/** Counts in Redis when it is there, in the process otherwise and while Redis does not answer. */
export function createLoginLockout({
  config,
  redis,
  log,
  clock,
}: Pick<Deps<IdentityConfig>, 'config' | 'redis' | 'log' | 'clock'>): LoginLockout {
  const limits: LockoutLimits = {
    maxFailures: config.LOGIN_MAX_FAILURES,
    windowMs: Math.ceil(config.LOGIN_FAILURE_WINDOW_SECONDS * 1000),
  };
  const inProcess = countInProcess(limits, clock);
  const inRedis = redis === null ? null : countInRedis(limits, redis);
  const warn = warnOccasionally({ log, clock }, 60_000);
  let redisPausedUntil = Number.NEGATIVE_INFINITY;

  /** Redis failed: everything is counted here for a while. */
  function pauseRedis(error: unknown): void {
    redisPausedUntil = clock.now() + REDIS_PAUSE_MS;
    warn('Redis does not answer: failed logins are counted in this process', { error });
  }

  async function reserve(address: string): Promise<[FailureCounter, number | null]> {
    if (inRedis !== null && clock.now() >= redisPausedUntil) {
      try {
        return [inRedis, await inRedis.reserve(address)];
      } catch (error) {
        pauseRedis(error);
      }
    }
    return [inProcess, await inProcess.reserve(address)];
  }

  return {
    async begin(address) {
      const [counter, lockedForMs] = await reserve(address);
      if (lockedForMs !== null) throw locked(lockedForMs);
      // An attempt that stays counted for want of Redis is not worth a failed login.
      return {
        succeed: () => counter.clear(address).catch(pauseRedis),
        cancel: () => counter.release(address).catch(pauseRedis),
      };
    },
  };
}

function locked(forMs: number): AppError {
  return new AppError('LOGIN_LOCKED', 'too many failed logins, try again later', {
    headers: { 'Retry-After': String(Math.max(1, Math.ceil(forMs / 1000))) },
  });
}

function countInProcess({ maxFailures, windowMs }: LockoutLimits, clock: Clock): FailureCounter {
  const windows = new LRUCache<string, { failures: number; endsAt: number }>({
    max: MAX_ADDRESSES,
  });
  return {
    async reserve(address) {
      const now = clock.now();
      const window = windows.get(address);
      if (!window || now >= window.endsAt) {
        windows.set(address, { failures: 1, endsAt: now + windowMs });
        return null;
      }
      if (window.failures >= maxFailures) return window.endsAt - now;
      window.failures += 1;
      return null;
    },
    async release(address) {
      const window = windows.get(address);
      if (window && window.failures > 1) window.failures -= 1;
      else windows.delete(address);
    },
    async clear(address) {
      windows.delete(address);
    },
  };
}

/**
 * One step in Redis, so that guesses through several processes are counted one after the other. A count
 * that has no end, as after a restore, gets one: it neither lets everything pass nor locks for ever.
 */
const reserveScript = `
local failures = tonumber(redis.call('GET', KEYS[1]) or '0')
local isLocked = failures >= tonumber(ARGV[1])
if not isLocked then redis.call('INCR', KEYS[1]) end
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  left = tonumber(ARGV[2])
end
return isLocked and left or -1`;
/** Not below zero: the window may have ended since. */
const releaseScript = `
if tonumber(redis.call('GET', KEYS[1]) or '0') > 1 then return redis.call('DECR', KEYS[1]) end
return redis.call('DEL', KEYS[1])`;

function countInRedis({ maxFailures, windowMs }: LockoutLimits, redis: Redis): FailureCounter {
  const keyOf = (address: string) => `backup:login:${address}`;
  return {
    async reserve(address) {
      const args = [String(maxFailures), String(windowMs)];
      const left = await redis.eval<string[], number>(reserveScript, [keyOf(address)], args);
      return left < 0 ? null : left;
    },
    async release(address) {
      await redis.eval(releaseScript, [keyOf(address)], []);
    },
    async clear(address) {
      await redis.del(keyOf(address));
    },
  };
}

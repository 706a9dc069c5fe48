import type { Redis } from '@upstash/redis';
import QuickLRU from 'quick-lru';
import type { Clock } from '../../clock.ts';
import type { IdentityConfig } from '../../config/identity.ts';
import { AppError } from '../../errors.ts';
import type { Deps } from '../../http/deps.ts';
import { createRedisFallback } from '../../rate-limits/redis-fallback.ts';

/** A login attempt, counted as failed before its password is checked. Ended by one of these calls. */
export interface LoginAttempt {
  /** The password was wrong. The attempt stays counted. */
  fail(): void;
  /** The login succeeded. The count of the address is reset. */
  succeed(): Promise<void>;
  /** The password could not be checked. The attempt is not counted. */
  cancel(): Promise<void>;
}

/** Counts failed logins by address. */
export interface LoginLockout {
  /**
   * Counts an attempt before it is made, so that simultaneous guesses cannot exceed the limit. If attempts that
   * are still running would reach the limit, waits for them. Throws LOGIN_LOCKED with Retry-After when the
   * address has reached the limit.
   */
  begin(address: string): Promise<LoginAttempt>;
}

/** A store of counts. A window starts with the first failure and is not extended. */
interface FailureCounter {
  /** Below the limit, adds one and returns null; otherwise returns the milliseconds left of the window. */
  reserve(address: string): Promise<number | null>;
  release(address: string): Promise<void>;
  clear(address: string): Promise<void>;
}

interface LockoutLimits {
  maxFailures: number;
  windowMs: number;
}

/** The process keeps at least this many of the latest addresses, and at most twice as many. */
const MAX_ADDRESSES = 20_000;
/** Attempts that may wait for earlier ones from their address. Further ones are refused. */
const MAX_WAITING = 1_000;

/** Counts in Redis, or in the process if Redis is not configured or does not answer. */
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
  const running = trackAttempts();
  const fallback = createRedisFallback(
    { log, clock },
    'Redis does not answer: failed logins are counted in this process',
  );

  function reserve(address: string): Promise<[FailureCounter, number | null]> {
    const reserveIn = async (counter: FailureCounter): Promise<[FailureCounter, number | null]> => [
      counter,
      await counter.reserve(address),
    ];
    return fallback.run(
      () => reserveIn(inRedis ?? inProcess),
      () => reserveIn(inProcess),
    );
  }

  return {
    async begin(address) {
      for (;;) {
        const roomBefore = running.roomMade();
        const [counter, lockedForMs] = await reserve(address);
        if (lockedForMs === null) {
          const end = running.start(address);
          // A login does not fail because Redis could not uncount its attempt.
          return {
            fail: () => end({ madeRoom: false }),
            succeed: async () => {
              await counter.clear(address).catch(fallback.pause);
              end({ madeRoom: true });
            },
            cancel: async () => {
              await counter.release(address).catch(fallback.pause);
              end({ madeRoom: true });
            },
          };
        }
        const mayTryAgain =
          running.roomMade() !== roomBefore || (await running.waitForOne(address));
        if (!mayTryAgain) throw locked(lockedForMs);
      }
    },
  };
}

/**
 * Tracks the attempts of this process whose passwords are being checked. Each counts as failed until it ends, so
 * an address is not locked before they have ended.
 */
function trackAttempts() {
  const addresses = new Map<string, { count: number; waiting: (() => void)[] }>();
  let totalWaiting = 0;
  let timesRoomMade = 0;
  return {
    /** Changes whenever an attempt ends without staying counted. */
    roomMade: () => timesRoomMade,
    start(address: string): (how: { madeRoom: boolean }) => void {
      const own = addresses.get(address) ?? { count: 0, waiting: [] };
      addresses.set(address, own);
      own.count += 1;
      return ({ madeRoom }) => {
        own.count -= 1;
        if (madeRoom) timesRoomMade += 1;
        if (own.count === 0) addresses.delete(address);
        if (madeRoom || own.count === 0) for (const wake of own.waiting.splice(0)) wake();
      };
    },
    /** Waits until one makes room or all have ended. False if none is running, or if too many wait. */
    async waitForOne(address: string): Promise<boolean> {
      const own = addresses.get(address);
      if (!own || totalWaiting >= MAX_WAITING) return false;
      totalWaiting += 1;
      await new Promise<void>((resolve) => own.waiting.push(resolve));
      totalWaiting -= 1;
      return true;
    },
  };
}

function locked(forMs: number): AppError {
  return new AppError('LOGIN_LOCKED', 'too many failed logins: try again later', {
    headers: { 'Retry-After': String(Math.max(1, Math.ceil(forMs / 1000))) },
  });
}

function countInProcess({ maxFailures, windowMs }: LockoutLimits, clock: Clock): FailureCounter {
  const windows = new QuickLRU<string, { failures: number; endsAt: number }>({
    maxSize: MAX_ADDRESSES,
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
 * Counts atomically, for guesses through several processes. A count without an expiry, as after a restore, gets
 * one, because otherwise it would lock forever.
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
/** Never goes below zero, because the window may have ended since. */
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

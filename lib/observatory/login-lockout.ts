import type { Redis } from '@upstash/redis';
import QuickLRU from 'quick-lru';
import type { Clock } from '../clock.ts';
import type { IdentityConfig } from '../config/identity.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import { createRedisFallback } from '../rate-limits/redis-fallback.ts';

/** A login that was counted as failed before its password was looked at. One of the three ends it. */
export interface LoginAttempt {
  /** The password was wrong: the attempt stays counted. */
  fail(): void;
  /** The login succeeded: the address starts anew. */
  succeed(): Promise<void>;
  /** The password was not looked at after all: the attempt does not count. */
  cancel(): Promise<void>;
}

/** Counts the failed logins of each address. */
export interface LoginLockout {
  /**
   * Counts an attempt before it is made, so that guesses sent at once are no more than the limit. While
   * attempts that are under way might use the failures up, it waits for them. Throws LOGIN_LOCKED with
   * the true Retry-After when the address has used its failures up.
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

/** The process keeps the addresses that it saw last: at least so many, at most twice as many. */
const KEPT_ADDRESSES = 20_000;
/** Most attempts that wait for others of their addresses; a flood beyond them is refused. */
const MAX_WAITING = 1_000;

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
  const underWay = trackAttempts();
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
        const roomBefore = underWay.roomMade();
        const [counter, lockedForMs] = await reserve(address);
        if (lockedForMs === null) {
          const end = underWay.start(address);
          // An attempt that stays counted for want of Redis is not worth a failed login.
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
        const isWorthAnotherTry =
          underWay.roomMade() !== roomBefore || (await underWay.waitForOne(address));
        if (!isWorthAnotherTry) throw locked(lockedForMs);
      }
    },
  };
}

/**
 * The attempts of this process whose passwords are being looked at. Each is counted as failed until it
 * ends, so an address is not locked out before they have.
 */
function trackAttempts() {
  const addresses = new Map<string, { count: number; waiting: (() => void)[] }>();
  let waitingInAll = 0;
  let timesRoomMade = 0;
  return {
    /** Changes whenever an attempt ends that does not stay counted. */
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
    /** Waits until one made room or all have ended. False when none is under way, or too many wait. */
    async waitForOne(address: string): Promise<boolean> {
      const own = addresses.get(address);
      if (!own || waitingInAll >= MAX_WAITING) return false;
      waitingInAll += 1;
      await new Promise<void>((resolve) => own.waiting.push(resolve));
      waitingInAll -= 1;
      return true;
    },
  };
}

function locked(forMs: number): AppError {
  return new AppError('LOGIN_LOCKED', 'too many failed logins, try again later', {
    headers: { 'Retry-After': String(Math.max(1, Math.ceil(forMs / 1000))) },
  });
}

function countInProcess({ maxFailures, windowMs }: LockoutLimits, clock: Clock): FailureCounter {
  const windows = new QuickLRU<string, { failures: number; endsAt: number }>({
    maxSize: KEPT_ADDRESSES,
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

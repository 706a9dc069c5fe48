import type { Clock } from '../clock.ts';
import type { Log } from '../log/log.ts';
import { warnOccasionally } from '../log/occasional-log.ts';

/** How long to avoid Redis after a failure, so that a slow Redis does not slow down every request. */
const PAUSE_MS = 5_000;
const WARN_INTERVAL_MS = 60_000;

/** Runs work in Redis, or in this process while Redis is down. */
export interface RedisFallback {
  /** Tries Redis unless it failed in the last five seconds; falls back to `here`. */
  run<Value>(inRedis: () => Promise<Value>, here: () => Promise<Value>): Promise<Value>;
  /** Records a failure of Redis, for work without a fallback. */
  pause(error: unknown): void;
}

/** `message` is logged at most once a minute, with the error. */
export function createRedisFallback(
  handles: { log: Log; clock: Clock },
  message: string,
): RedisFallback {
  const warn = warnOccasionally(handles, WARN_INTERVAL_MS);
  let pausedUntil = Number.NEGATIVE_INFINITY;
  const pause = (error: unknown) => {
    pausedUntil = handles.clock.now() + PAUSE_MS;
    warn(message, { error });
  };
  return {
    pause,
    async run(inRedis, here) {
      if (handles.clock.now() < pausedUntil) return here();
      try {
        return await inRedis();
      } catch (error) {
        pause(error);
        return here();
      }
    },
  };
}

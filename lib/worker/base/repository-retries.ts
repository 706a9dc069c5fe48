import type { Fault } from './git-faults.ts';

/** How often a repository with a transient fault is tried in one run. */
export const MAX_TRIES = 3;

const FIRST_PAUSE_MS = 2_000;
const FACTOR = 4;
/** The random share that is added to each pause, so that repositories that failed together are not retried together. */
const JITTER = 0.25;

/**
 * Milliseconds until the next try after `tries` tries failed: 2 s, then 8 s, up to a quarter more, or what the
 * host asked for if that is longer. Null if another try is pointless. `random` is from 0 to 1.
 */
export function pauseBeforeRetry(
  { isTransient, retryAfterMs }: Fault,
  tries: number,
  random = Math.random(),
): number | null {
  if (!isTransient || tries >= MAX_TRIES) return null;
  const pause = FIRST_PAUSE_MS * FACTOR ** (tries - 1) * (1 + JITTER * random);
  return Math.round(Math.max(pause, retryAfterMs ?? 0));
}

import type { Clock } from '../../clock.ts';
import { isDatabaseUnavailable } from '../../database/database.ts';
import { AppError } from '../../errors.ts';

const FIRST_PAUSE_MS = 500;
/** Short enough to continue soon after the database is back. */
const MAX_PAUSE_MS = 4_000;

interface RetryOptions {
  clock: Clock;
  forMs: number;
  signal?: AbortSignal;
  /** Whether another caller has given up already. Default: false. */
  isOver?(): boolean;
}

/**
 * Retries `work` while the database is unavailable, with growing pauses, for `forMs` milliseconds; then
 * throws its error. `work` must be safe to repeat. Throws the signal's reason if it aborts.
 */
export async function retryWhileUnavailable<Value>(
  work: () => Promise<Value>,
  { clock, forMs, signal, isOver = () => false }: RetryOptions,
): Promise<Value> {
  const end = clock.now() + forMs;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, MAX_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      const isUnavailable = error instanceof AppError && error.code === 'SERVICE_UNAVAILABLE';
      if (!isUnavailable || isOver() || clock.now() + pause > end) throw error;
    }
    await clock.sleep(pause, signal);
  }
}

/** The result of work on the database, or `otherwise` while the database is unreachable. */
export async function unlessAway<Value, Other>(
  work: () => Promise<Value>,
  otherwise: Other,
): Promise<Value | Other> {
  try {
    return await work();
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error;
    return otherwise;
  }
}

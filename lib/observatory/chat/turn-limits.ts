import type { Clock } from '../../clock.ts';
import { AppError } from '../../errors.ts';

/** Ends a turn early. */
export interface TurnLimits {
  /** Its reason is the AppError that the turn fails with. */
  signal: AbortSignal;
  /** Stops watching once the turn has ended. */
  release(): void;
}

interface WatchedEvents {
  clock: Clock;
  deadlineMs: number;
  /** Abort when the client disconnects. */
  gone: readonly AbortSignal[];
  /** Aborts when the process ends; null if that is not announced. */
  stopping: AbortSignal | null;
  /** Aborts when its user stops the turn; null if nobody can. */
  stopped: AbortSignal | null;
}

/** Ends a turn at the deadline, when the client disconnects, when its user stops it or when the process ends. */
export function limitTurn({
  clock,
  deadlineMs,
  gone,
  stopping,
  stopped,
}: WatchedEvents): TurnLimits {
  const ended = new AbortController();
  const released = new AbortController();
  const unwatch: (() => void)[] = [];
  const watch = (signal: AbortSignal, reason: () => AppError) => {
    const end = () => ended.abort(reason());
    if (signal.aborted) return end();
    signal.addEventListener('abort', end);
    // Removed by hand: the `signal` option would keep the whole request in memory.
    unwatch.push(() => signal.removeEventListener('abort', end));
  };
  for (const signal of gone) watch(signal, clientGone);
  if (stopping) watch(stopping, processEnds);
  if (stopped) watch(stopped, stoppedByUser);
  clock.sleep(deadlineMs, released.signal).then(
    () => ended.abort(deadlineExceeded(deadlineMs)),
    () => undefined, // released
  );
  return {
    signal: ended.signal,
    release() {
      for (const stop of unwatch) stop();
      released.abort();
    },
  };
}

function deadlineExceeded(deadlineMs: number): AppError {
  return new AppError(
    'DEADLINE_EXCEEDED',
    `the answer took longer than ${deadlineMs / 1000} seconds`,
  );
}

function clientGone(): AppError {
  return new AppError('SERVICE_UNAVAILABLE', 'the client disconnected');
}

function stoppedByUser(): AppError {
  return new AppError('SERVICE_UNAVAILABLE', 'you stopped this turn');
}

function processEnds(): AppError {
  return new AppError('SERVICE_UNAVAILABLE', 'the service is stopping: ask again');
}

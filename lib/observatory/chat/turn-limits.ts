import type { Clock } from '../../clock.ts';
import { AppError } from '../../errors.ts';

/** What ends a turn before its own end. */
export interface TurnLimits {
  /** Its reason is the AppError that the turn then ends with. */
  signal: AbortSignal;
  /** The turn has ended: nothing is watched any more. */
  release(): void;
}

export interface TurnEnds {
  clock: Clock;
  deadlineMs: number;
  /** Abort when the client is gone. */
  gone: readonly AbortSignal[];
  /** Aborts when the process ends; null where nothing says so. */
  stopping: AbortSignal | null;
}

/** Watches for the deadline, the client's leave and the end of the process. */
export function limitTurn({ clock, deadlineMs, gone, stopping }: TurnEnds): TurnLimits {
  const ended = new AbortController();
  const released = new AbortController();
  const unwatch: (() => void)[] = [];
  const watch = (signal: AbortSignal, reason: () => AppError) => {
    const end = () => ended.abort(reason());
    if (signal.aborted) return end();
    signal.addEventListener('abort', end);
    // By hand: by a `signal` option the request's own signal would keep the whole request for ever.
    unwatch.push(() => signal.removeEventListener('abort', end));
  };
  for (const signal of gone) watch(signal, clientGone);
  if (stopping) watch(stopping, stopped);
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
  return new AppError('SERVICE_UNAVAILABLE', 'the client is gone');
}

function stopped(): AppError {
  return new AppError('SERVICE_UNAVAILABLE', 'the service is stopping: ask again');
}

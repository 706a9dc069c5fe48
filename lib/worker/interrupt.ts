import type { EventEmitter } from 'node:events';
import type { Clock } from '../platform/clock.ts';
import { RunStopped } from './stop.ts';

/** npm passes a Ctrl-C on that the terminal sent us already; a person's second one comes later. */
const SAME_INTERRUPT_MS = 500;

export interface InterruptOptions {
  /** The process: emits SIGINT and SIGTERM with their names. */
  signals: Pick<EventEmitter, 'on'>;
  clock: Clock;
  exit(code: number): void;
}

/**
 * The first SIGINT or SIGTERM aborts the returned signal with a RunStopped that says so, and the run
 * closes itself; a second one ends the process at once with code 1.
 */
export function listenForInterrupt({ signals, clock, exit }: InterruptOptions): AbortSignal {
  const interrupt = new AbortController();
  let firstAt = 0;
  const stop = (name: string) => {
    if (!interrupt.signal.aborted) {
      firstAt = clock.now();
      interrupt.abort(new RunStopped(`interrupted by ${name}`));
    } else if (clock.now() - firstAt > SAME_INTERRUPT_MS) exit(1);
  };
  signals.on('SIGINT', stop);
  signals.on('SIGTERM', stop);
  return interrupt.signal;
}

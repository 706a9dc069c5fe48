import type { EventEmitter } from 'node:events';
import type { Clock } from '../clock.ts';
import { describeInterrupt, describeLostNpm } from './base/stop.ts';

/** npm repeats a Ctrl-C that the terminal has already sent us. A second Ctrl-C by the user comes later. */
const SAME_INTERRUPT_MS = 500;

interface InterruptOptions {
  /** The process: emits SIGINT, SIGTERM and SIGHUP with their names. */
  signals: Pick<EventEmitter, 'on'>;
  clock: Clock;
  exit(code: number): void;
  /** Whether a SIGTERM is our own, because npm has ended. */
  hasNpmEnded(): boolean;
}

/**
 * The first SIGINT, SIGTERM or SIGHUP (closed terminal) aborts the returned signal with a RunStopped, so
 * that the run can end properly; a second one ends the process at once with code 1.
 */
export function listenForInterrupt({
  signals,
  clock,
  exit,
  hasNpmEnded,
}: InterruptOptions): AbortSignal {
  const interrupt = new AbortController();
  let firstAt = 0;
  const stop = (name: string) => {
    if (!interrupt.signal.aborted) {
      firstAt = clock.now();
      const isOwn = name === 'SIGTERM' && hasNpmEnded();
      interrupt.abort(isOwn ? describeLostNpm() : describeInterrupt(name));
    } else if (clock.now() - firstAt > SAME_INTERRUPT_MS) exit(1);
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) signals.on(name, stop);
  return interrupt.signal;
}

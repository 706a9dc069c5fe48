import type { Clock } from '../clock.ts';
import type { Log, LogFields } from './log.ts';

/** A `warn` that writes at most one warning per `intervalMs`. */
export function warnOccasionally(
  { log, clock }: { log: Log; clock: Clock },
  intervalMs: number,
): (message: string, fields?: LogFields) => void {
  let quietUntil = Number.NEGATIVE_INFINITY;
  return (message, fields) => {
    if (clock.now() < quietUntil) return;
    quietUntil = clock.now() + intervalMs;
    log.warn(message, fields);
  };
}

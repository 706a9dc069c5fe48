import { within } from '../async.ts';
import type { Clock } from '../clock.ts';
import type { Log } from '../log/log.ts';

/** How long a part of a process may take to end. Running requests have ten seconds of it. */
export const MAX_ENDING_MS = 60_000;

class Late extends Error {}

/**
 * Waits until every part has ended, or logs which has not in time: a process that is told to end must not stay because
 * of one. Throws what a part throws.
 */
export async function endInTime(
  parts: Readonly<Record<string, Promise<unknown> | undefined>>,
  { clock, log, maxMs = MAX_ENDING_MS }: { clock: Clock; log: Log; maxMs?: number },
): Promise<void> {
  const end = async ([part, ending]: [string, Promise<unknown> | undefined]) => {
    try {
      await within(maxMs, Promise.resolve(ending), clock, () => new Late());
    } catch (error) {
      if (!(error instanceof Late)) throw error;
      log.error('a part of the server did not end in time and is abandoned', { part });
    }
  };
  await Promise.all(Object.entries(parts).map(end));
}

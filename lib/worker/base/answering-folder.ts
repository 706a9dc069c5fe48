import { within } from '../../async.ts';
import type { Clock } from '../../clock.ts';
import { formatDuration } from '../../text/units.ts';
import { RunStopped } from './stop.ts';

/**
 * Settles like work on a few files of a folder. Throws RunStopped if that takes longer than `ms` milliseconds: a call to
 * a file system that hangs, such as that of a network drive that is gone, cannot be stopped, and may never end.
 */
export async function orHangs<Value>(
  { folder, ms, clock }: { folder: string; ms: number; clock: Clock },
  work: Promise<Value>,
): Promise<Value> {
  const hung = () =>
    new RunStopped(
      `the folder ${folder} has not answered for ${formatDuration(ms)}: is its disk or network drive connected?`,
    );
  return within(ms, work, clock, hung);
}

import { describeLacks, findLacks, type Lack } from '../../durable-files.ts';
import { messageOf } from '../../errors.ts';
import { isSystemError } from '../../files.ts';
import { describeStuck, sweepScratch } from '../../processes/scratch.ts';
import { cleanText } from '../../text/clean-text.ts';
import { makeArchiveFolder } from '../archive/archive.ts';
import { RunStopped } from '../base/stop.ts';
import type { RunContext } from './run-deps.ts';

/** Creates the folders that a run writes to. Throws RunStopped. */
export async function prepareFolders(deps: RunContext): Promise<void> {
  await deps.time.check();
  await prepareFolder(deps, deps.archiveFolder, 'the archive folder');
  await prepareFolder(deps, deps.mirrorFolder, 'the mirror folder');
  await noteLacks(deps);
}

/** Says once in a run what the file system of the archives cannot do. */
async function noteLacks(deps: RunContext): Promise<void> {
  const lacks = await readLacks(deps.archiveFolder);
  const text = describeLacks('the archive folder', lacks);
  if (text !== null) await deps.journal.note('warn', text);
}

/** What the file system of a folder lacks. */
export async function readLacks(folder: string): Promise<Lack[]> {
  try {
    return await findLacks(folder);
  } catch (error) {
    // Each backup fails with the same error, and says it.
    if (!isSystemError(error)) throw error;
    return [];
  }
}

async function prepareFolder(
  { time, signal, log }: RunContext,
  folder: string,
  what: string,
): Promise<void> {
  try {
    await makeArchiveFolder(folder);
    const stuck = await sweepScratch(folder, time.now());
    if (stuck !== null) log.warn(describeStuck(stuck));
  } catch (cause) {
    signal.throwIfAborted();
    const reason = messageOf(cause);
    throw new RunStopped(cleanText(`${what} cannot be used: ${reason}`), { cause });
  }
}

import { GitError } from '../../git/git.ts';
import type { NewSnapshot } from '../../records/recording/snapshots.ts';
import { StoreFault } from '../../stores/base/object-store.ts';
import { counted, firstOf } from '../../text/units.ts';
import { takeSnapshot } from '../archive/snapshot.ts';
import type { Destination } from '../offsite/destination/open-destination.ts';
import type { Journal } from '../record/journal.ts';
import type { RunContext } from './run-deps.ts';

/** Measures the repositories, or the destination if there is one, and stores the figures of the run. */
export async function storeSnapshot(
  { journal, archiveFolder, signal }: Pick<RunContext, 'journal' | 'archiveFolder' | 'signal'>,
  repositories: readonly string[],
  destination: Pick<Destination, 'measure'> | null,
): Promise<void> {
  try {
    const snapshot =
      destination === null
        ? await measureSources(archiveFolder, repositories, journal)
        : await measureDestination(destination, journal);
    await journal.tell({ type: 'snapshot', snapshot });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof GitError || error instanceof StoreFault)) throw error;
    // Figures of the sources would be mistaken for those of the destination.
    await journal.note('warn', `no analytics: the destination cannot be read: ${error.message}`);
  }
}

async function measureSources(
  archiveFolder: string,
  repositories: readonly string[],
  journal: Journal,
): Promise<NewSnapshot> {
  const { snapshot, uncounted } = await takeSnapshot(archiveFolder, repositories);
  if (uncounted.length > 0) {
    await journal.note('info', `analytics omit uncounted figures of ${firstOf(uncounted)}`);
  }
  return snapshot;
}

async function measureDestination(
  destination: Pick<Destination, 'measure'>,
  journal: Journal,
): Promise<NewSnapshot> {
  const { snapshot, unknownSizes } = await destination.measure();
  if (unknownSizes > 0) {
    const files = counted(unknownSizes, 'file');
    const text = `analytics omit ${files} of the destination, whose size is unknown here`;
    await journal.note('info', text);
  }
  return snapshot;
}

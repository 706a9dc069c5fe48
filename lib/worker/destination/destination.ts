import type { KeptArchive } from '../archive.ts';
import type { Source } from '../source.ts';
import type { DestinationFigures } from './measure.ts';

/** How an archive came to the destination, or why it did not. */
export type Delivery =
  | { status: 'pushed' }
  /** The destination had it already. */
  | { status: 'there' }
  | { status: 'failed' | 'too_large'; reason: string };

/** Where a run's archives are pushed (decisions 7, Destination). */
export interface Destination {
  /** Throws Error of the file system, or the signal's reason. */
  deliver(source: Source, archive: KeptArchive): Promise<Delivery>;
  /** The figures of the destination as it is now. Throws GitError, and what `deliver` throws. */
  measure(): Promise<DestinationFigures>;
  /** Removes what the run needed of it. */
  close(): Promise<void>;
}

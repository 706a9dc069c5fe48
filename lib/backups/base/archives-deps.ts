import type { ArchiveFolder } from '../../archives/archive-folder.ts';
import type { PlainArchives } from '../../archives/plain-archives.ts';

/**
 * Archives served over HTTP. Calls throw RATE_LIMITED while too many archives are being read, and
 * SERVICE_UNAVAILABLE if the archive folder cannot be read.
 */
export interface ServedArchives extends PlainArchives {
  /** Explains why the archive folder cannot be read; null if it can. */
  explainMissing(): Promise<string | null>;
  /** Measures the disk of the archive folder. */
  measureFolder(): Promise<ArchiveFolder>;
}

import type { PlainArchives } from '../../archives/plain-archives.ts';

/**
 * Archives that may be sent to whoever may see them. Throws RATE_LIMITED while too many are read, and
 * SERVICE_UNAVAILABLE without the archive folder.
 */
export interface ServedArchives extends PlainArchives {
  /** Why no archive can be read here; null if the archive folder can. */
  explainMissing(): Promise<string | null>;
}

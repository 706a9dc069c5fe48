import type { NewVersion } from '../../records/recording/versions.ts';
import type { Refs } from '../mirror/refs.ts';

/** What is recorded about a new version, beside its repository and run. */
export interface VersionFacts
  extends Omit<NewVersion, 'repository' | 'runId' | 'refCount' | 'changes'> {
  refs: Refs;
  /** SHA-256 of the manifest of the version before it, from which `changes` are; null for the first. */
  previousManifestSha256: string | null;
  /** Refs that differ from the version before; null for a deleted one. */
  changes: ReadonlyMap<string, string | null>;
}

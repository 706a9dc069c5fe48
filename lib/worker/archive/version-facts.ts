import type { NewVersion } from '../../records/recording/versions.ts';
import type { Refs } from '../mirror/refs.ts';

/** The facts recorded about a new version, besides its repository and run. */
export interface VersionFacts
  extends Omit<NewVersion, 'repository' | 'runId' | 'refCount' | 'changes'> {
  refs: Refs;
  /** SHA-256 of the previous version's manifest, which `changes` are relative to; null for the first version. */
  previousManifestSha256: string | null;
  /** Refs that differ from the previous version; null for a deleted one. */
  changes: ReadonlyMap<string, string | null>;
}

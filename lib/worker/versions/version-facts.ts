import type { Refs } from '../mirror/refs.ts';

/** What is recorded about a new version. */
export interface VersionFacts {
  version: number;
  /** SHA-256 of the manifest of the version before it, from which `changes` are; null for the first. */
  previousManifestSha256: string | null;
  /** ISO 8601 in UTC. */
  at: string;
  headBranch: string | null;
  refs: Refs;
  /** Digest of the refs. */
  refsSha256: string;
  manifestSha256: string;
  archiveKey: string;
  /** How many files of the archive it needs. */
  files: number;
  /** Bytes of the whole archive, and of what this version added to it. */
  sizeBytes: number;
  newBytes: number;
  /** Why a person should look at it; null if it is ordinary. */
  warning: string | null;
  /** Refs that differ from the version before; null for a deleted one. */
  changes: ReadonlyMap<string, string | null>;
}

import type { ConfiguredSource } from '../../config/sources.ts';

/** A repository in a folder: where it is, and what it would be named. */
export interface HeldRepository {
  address: string;
  name: string;
}

/** What came of trying an address. */
export type SourceTrial =
  | {
      kind: 'repository';
      source: ConfiguredSource;
      /** What it would be named. */
      name: string;
      /** How many branches, tags and other refs it has. */
      refs: number;
      /** Bytes that it occupies; null if that is unknown. */
      sizeBytes: number | null;
    }
  | { kind: 'folder'; source: ConfiguredSource; repositories: HeldRepository[] }
  | {
      kind: 'refused';
      /** Why it cannot be backed up, for people. */
      reason: string;
    };

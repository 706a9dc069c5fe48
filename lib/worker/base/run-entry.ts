import type { Progress } from '../../git/progress.ts';
import type { AnomalyOfVersion, MissedRepositories } from '../../records/recording/anomalies.ts';
import type { NewLog } from '../../records/recording/logs.ts';
import type { SeenRepository } from '../../records/recording/plans.ts';
import type { NewResult } from '../../records/recording/results.ts';
import type { RunCounters } from '../../records/recording/runs.ts';
import type { NewSnapshot } from '../../records/recording/snapshots.ts';
import type { NewSource } from '../../records/recording/sources.ts';
import type { NewStoring, SeenStoring, UsedStores } from '../../records/recording/stores.ts';
import type { UnreadSource } from '../../records/recording/unread.ts';
import type { NewVersion } from '../../records/recording/versions.ts';
import type { FaultKind } from './git-faults.ts';

/** The facts recorded about a new version, besides its repository and run. */
export interface VersionFacts
  extends Omit<NewVersion, 'repository' | 'runId' | 'refCount' | 'changes'> {
  refs: ReadonlyMap<string, string>;
  /** SHA-256 of the previous version's manifest, which `changes` are relative to; null for the first version. */
  previousManifestSha256: string | null;
  /** Refs that differ from the previous version; null for a deleted one. */
  changes: ReadonlyMap<string, string | null>;
}

/** What is recorded as it happens. */
type Fact =
  | ({ type: 'log' } & Omit<NewLog, 'runId'>)
  | { type: 'archive'; repository: string; key: string; sha256: string }
  | { type: 'version'; repository: string; facts: VersionFacts }
  | ({ type: 'anomaly' } & AnomalyOfVersion)
  | ({ type: 'missing' } & MissedRepositories)
  | { type: 'coverage'; repositories: readonly SeenRepository[] }
  | { type: 'sources'; sources: readonly NewSource[] }
  | { type: 'pruned'; repository: string; versions: readonly number[] }
  | ({ type: 'stores' } & UsedStores)
  | ({ type: 'stored' } & NewStoring)
  | ({ type: 'seen' } & SeenStoring)
  | { type: 'snapshot'; snapshot: NewSnapshot }
  | { type: 'total'; totalRepos: number };

/** What ends the work on a repository, which the run counts, or on a source that was never read, which it does not. */
type Counted =
  | ({ type: 'result' } & Omit<NewResult, 'runId' | 'counters' | 'position'>)
  | { type: 'unchanged'; repository: string; message: string }
  | ({ type: 'unread'; repository: string } & UnreadSource);

/** What is only shown, to whoever watches the run. */
type Shown =
  | {
      /** The repositories are known. */
      type: 'began';
      id: number | null;
      /** Whether another worker started the run, and this one joined it. */
      isJoined: boolean;
      repositories: readonly string[];
      /** How long the last backup of some took, in milliseconds. */
      durations: ReadonlyMap<string, number>;
    }
  /** Work on a repository continues: with a step of ours, or with git's own progress. */
  | { type: 'working'; repository: string; doing: string | Progress }
  /** A repository waits for its next attempt. */
  | { type: 'resting'; repository: string }
  | {
      type: 'ended';
      repository: string;
      status: 'completed' | 'unchanged' | 'empty' | 'failed' | 'too_large' | 'unread';
      durationMs: number;
      tries: number;
      /** Its path or address, if its source was never read: then it is no repository. Else null. */
      unread: string | null;
      /** Null unless it failed. */
      failure: { kind: FaultKind; errorMessage: string } | null;
      /** Its file name in the archive folder, and the size of its full bundle; null if it failed or is empty. */
      archive: { key: string; sizeBytes: number } | null;
    }
  /**
   * How many repositories of the run are done, how many of them failed, and how many of its sources were never read, if
   * there are other workers.
   */
  | { type: 'counted'; done: number; failed: number; unread: number }
  /** Nothing follows. */
  | { type: 'closed' };

/** What happens in a run, in order: the journal records it, and the watchers show it. */
export type RunEntry = Fact | Counted | Shown;

/** An entry as it is stored. Those that the run counts come with the counters, and a result with its place. */
export type StoredEntry =
  | Fact
  | ({ type: 'result' } & Omit<NewResult, 'runId'>)
  | (Exclude<Counted, { type: 'result' }> & { counters: RunCounters });

/** Shows a run to a person or to a program. */
export type Watcher = (entry: RunEntry) => void;

/** What happens to one repository, without its name. */
export type RepositoryEntry = WithoutName<
  Extract<
    RunEntry,
    { type: 'log' | 'working' | 'archive' | 'version' | 'anomaly' | 'pruned' | 'stored' | 'seen' }
  >
>;

type WithoutName<Entry> = Entry extends unknown ? Omit<Entry, 'repository'> : never;

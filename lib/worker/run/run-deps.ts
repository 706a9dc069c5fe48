import type { Clock } from '../../clock.ts';
import type { RetentionPolicy } from '../../config/archives.ts';
import type { Environment } from '../../config/read.ts';
import type { ConfiguredSource } from '../../config/sources.ts';
import type { Database } from '../../database/database.ts';
import type { Log } from '../../log/log.ts';
import type { RunRequest } from '../../records/recording/requests.ts';
import type { RunTime } from '../backup/run-time.ts';
import type { Display } from '../base/display.ts';
import type { Watcher } from '../base/run-entry.ts';
import type { Source } from '../base/source.ts';
import type { HostAccess } from '../logins/host-access.ts';
import type { NoteRenewable } from '../logins/token-source.ts';
import type { PushTarget } from '../offsite/destination/target.ts';
import type { OffsiteConfig } from '../offsite/offsite.ts';
import type { Journal } from '../record/journal.ts';
import type { Selection } from './selection/select.ts';
import type { FailedRepository, NeverRead } from './watching/failures.ts';

/** The sources that a run without `--source` takes, besides those of the database. */
export interface NamedSources {
  /** Those of BACKUP_SOURCES. */
  configured: readonly ConfiguredSource[];
  /** The ids of `--source-id`: only these are taken. Null for all. */
  ids: readonly number[] | null;
}

/** The dependencies of a run. */
export interface RunDeps {
  db: Database;
  clock: Clock;
  log: Log;
  display: Display;
  /** Shows the run. */
  watch: Watcher;
  /** The process's environment, parts of which are passed to git. */
  environment: Environment;
  archiveFolder: string;
  mirrorFolder: string;
  /** Which versions are kept. */
  retention: RetentionPolicy;
  /** Full bundles of at least this size get increments; null for the default. */
  incrementsFromBytes: number | null;
  /** DATA_DIR, where the worker keeps this machine's state. */
  dataFolder: string;
  /** How many repositories are backed up at once. */
  concurrency: number;
  /** Which repositories are excluded. */
  selection: Selection;
  /** What is backed up unless the command line names it. */
  named: NamedSources;
  /** Whether the run may go on in an archive folder that has none of several recorded archives. */
  mayStartOver: boolean;
  /** How long a run may reread archives that have gone unchecked the longest. */
  recheckBudgetMs: number;
  staleAfterMs: number;
  /** The interval of `--every` or of the schedule in milliseconds; 0 if a person started this run once, null if that is unknown. */
  scheduleMs: number | null;
  /** The schedule that started this run; null if none did. */
  scheduleId: number | null;
  /** The git host, for discovery and destination. */
  gitHost: Pick<HostAccess, 'config' | 'store'> & {
    fetch: typeof fetch;
    noteRenewable?: NoteRenewable;
  };
  /** Where archives are pushed, if anywhere. */
  target: PushTarget | null;
  /** The layout there; null to keep the existing one. */
  layout: 'parts' | 'files' | null;
  /** The size in bytes above which the destination starts over; null for none. */
  maxTargetBytes: number | null;
  /** Where archives are stored besides this machine. */
  stores: OffsiteConfig;
  /** Aborts with a RunStopped error as the reason. */
  signal: AbortSignal;
}

/** A run in progress. */
export interface RunContext extends RunDeps {
  journal: Journal;
  time: RunTime;
  /** Ends the run with this reason, by aborting the signal. */
  stop(error: unknown): void;
  /** Throws if another worker may own the archives by now. */
  checkLease(): Promise<void>;
  /** The name of this machine, if the run has other workers that may succeed where it fails; else null. */
  hostName: string | null;
}

/** What a run has got so far. */
export interface RunProgress {
  requests: RunRequest[];
  sources: readonly Source[];
  /** How many repositories there are: the sources, except those that were never read. */
  total: number;
  failed: Set<Source>;
  failures: FailedRepository[];
  /** The sources that were never read: mistyped paths and addresses, and no repositories. */
  unread: NeverRead[];
  /** How many archives are gone that the run does not make again. */
  lost: number;
  empty: number;
  /** The exit code of a run that could not read a source because of its login; null if that did not happen. */
  exitCode: number | null;
}

/** The progress of a run that is starting. */
export function newProgress(sources: readonly Source[]): RunProgress {
  return {
    ...{
      requests: [],
      sources,
      total: sources.length,
      failed: new Set(),
      failures: [],
      unread: [],
    },
    ...{ lost: 0, empty: 0, exitCode: null },
  };
}

import type { RetentionPolicy } from '../../config/archives.ts';
import type { Environment } from '../../config/read.ts';
import type { Lack } from '../../durable-files.ts';
import type { Git } from '../../git/git.ts';
import type { GitCredential } from '../../git/git-credential.ts';
import type { Log } from '../../log/log.ts';
import type { RestorableVersion } from '../../records/recording/versions.ts';
import type { FigureLimits } from '../archive/figures.ts';
import type { VersionOptions } from '../archive/versions/describe-version.ts';
import type { PruneOptions } from '../archive/versions/prune.ts';
import type { RepositoryEntry } from '../base/run-entry.ts';
import type { Source } from '../base/source.ts';
import type { Destination } from '../offsite/destination/open-destination.ts';
import type { Offsite } from '../offsite/offsite.ts';
import type { Journal } from '../record/journal.ts';
import type { DiskRoom } from './disk-room.ts';
import type { RunTime } from './run-time.ts';

/** Where archives are delivered to. */
export interface DeliveryTargets {
  /** Where archives are pushed in the layout `files`; null for nowhere. */
  destination: Destination | null;
  /** Where archives are stored besides this machine; null for nowhere. */
  offsite: Offsite | null;
  /** Whether a store may have failed to take a repository at the last attempt. */
  isFailing(repository: string, store: string): boolean;
}

/** What backing up a repository needs from its run. */
export interface BackupContext extends DeliveryTargets {
  journal: Journal;
  log: Log;
  time: RunTime;
  /** The process's environment, parts of which are passed to git. */
  environment: Environment;
  archiveFolder: string;
  mirrorFolder: string;
  /** What the file system of the mirrors lacks. */
  mirrorLacks: readonly Lack[];
  /** The free space for archives. */
  room: DiskRoom;
  /** Which versions are kept. */
  retention: RetentionPolicy;
  /** Full bundles of at least this size get increments. */
  incrementsFromBytes: number;
  /** Throws if another worker may own the archives by now. */
  checkLease(): Promise<void>;
  /** The name of this machine, if the run has other workers that may succeed where it fails; else null. */
  hostName: string | null;
  /** Aborts with a RunStopped error as the reason. */
  signal: AbortSignal;
}

/** A repository in a run, with the state that its attempts share. */
export interface Job {
  source: Source;
  /** How many attempts were made. */
  tries: number;
  /** Milliseconds that the attempts took, without the pauses between them. */
  durationMs: number;
  /** SHA-256 of the archive that an earlier attempt of this run published; null if none did. */
  publishedSha256: string | null;
  /** Whether its archive was found damaged. */
  isDamaged: boolean;
  /** A fault of its archive that no backup can repair; null if there is none. */
  altered: string | null;
}

/** A job without attempts. */
export function newJob(source: Source, found: Pick<Job, 'isDamaged' | 'altered'>): Job {
  return { source, tries: 0, durationMs: 0, publishedSha256: null, ...found };
}

/** What the steps of backing up one repository work with. */
export interface Backup extends VersionOptions, PruneOptions {
  git: Git;
  source: Source;
  archiveFolder: string;
  /** Where mirrors are kept. */
  mirrorFolder: string;
  /** Whether `git clone` works there: it does not without permissions. */
  mayClone: boolean;
  /** Calls to a hanging file system end when it aborts, as git does. */
  signal: AbortSignal;
  /** Whether a file of the archive was found damaged, which its size and time do not reveal. */
  isDamaged: boolean;
  /** Milliseconds since the epoch, as far as known: `checkClock` corrects it. */
  now(): number;
  /** How git gets credentials for the source. Asked for each transfer, because tokens expire during a long run. */
  credential(): Promise<GitCredential | null>;
  /** Reserves the disk space that fetching needs. Throws DiskFull. */
  reserveRoom(): Promise<void>;
  /** Throws if another worker may own the archive by now. Called before anything in it is replaced. */
  checkLease(): Promise<void>;
  /** Takes what happens, in order. A new archive is told as soon as it is published. */
  tell(entry: RepositoryEntry): Promise<void>;
  /** The versions that are recorded as restorable; null if the database cannot be read. */
  listRecorded(): Promise<readonly RestorableVersion[] | null>;
  /** Says why a new archive was made: the repository fails for it, once its archive is delivered. */
  madeAnew(reason: string): void;
  /** Default: `figureLimits`. */
  figureLimits?: FigureLimits;
}

/** Tells a remark for a person. */
export function remark(
  { tell }: Pick<Backup, 'tell'>,
  level: 'info' | 'warn' | 'error',
  message: string,
): Promise<void> {
  return tell({ type: 'log', level, message });
}

/** Tells that a step begins. */
export function begin({ tell }: Pick<Backup, 'tell'>, doing: string): Promise<void> {
  return tell({ type: 'working', doing });
}

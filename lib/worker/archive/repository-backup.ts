import type { RetentionPolicy } from '../../config/archives.ts';
import type { Git } from '../../git/git.ts';
import type { Progress } from '../../git/progress.ts';
import type { Source } from '../base/source.ts';
import type { KeptArchive } from './archive.ts';
import type { FigureLimits } from './figures.ts';
import type { Hold } from './retention.ts';
import type { VersionFacts } from './version-facts.ts';

/**
 * How the backup of one repository ended, unless it failed. `empty` means no refs at all: a repository with commits
 * only at a detached HEAD has no branches or tags either, but is archived.
 */
export type RepositoryOutcome =
  | ({ status: 'unchanged' } & KeptArchive)
  | { status: 'empty' }
  | ({ status: 'completed' } & KeptArchive);

export interface RepositoryBackup {
  git: Git;
  archiveFolder: string;
  /** Where mirrors are kept. */
  mirrorFolder: string;
  /** Whether `git clone` works there: it does not without permissions. */
  mayClone: boolean;
  source: Source;
  /** Calls to a hanging file system end when it aborts, as git does. */
  signal: AbortSignal;
  runId: number | null;
  /** SHA-256 of the archive according to the database; null if there is none. */
  recordedSha256: string | null;
  /** The versions according to the database: the newest number, and how many can be restored. */
  recordedVersions: { newest: number; restorable: number };
  /** What prevents versions from being pruned. */
  hold: Hold;
  /** Whether a file of the archive was found damaged, which its size and time do not reveal. */
  isDamaged: boolean;
  /** Milliseconds since the epoch, as far as known: `checkClock` corrects it. */
  now(): number;
  /** Describes how this machine's clock is wrong; null if it is right or cannot be checked. */
  checkClock(): Promise<string | null>;
  /** Which versions are kept. */
  retention: RetentionPolicy;
  /** Full bundles of at least this size get increments. */
  incrementsFromBytes: number;
  /** Throws if another worker may own the archive by now. Called before anything in it is replaced. */
  checkLease(): Promise<void>;
  /** Called before each step. */
  onStep(step: BackupStep): Promise<void>;
  /** Called as soon as a new archive is published, before counting. */
  onPublished(archive: KeptArchive): Promise<void>;
  /** Called with each new version after its archive is published. */
  onVersion(version: VersionFacts): Promise<void>;
  /** Called with the last version of a source that had refs but has none now, and their number. */
  onEmptied(version: number, refCount: number): Promise<void>;
  /** Called with the numbers of pruned versions. */
  onPruned(versions: readonly number[]): Promise<void>;
  /** Called with remarks for a person. */
  onRemark(level: 'info' | 'warn' | 'error', text: string): Promise<void>;
  /** Called with git's own progress. */
  onProgress?(progress: Progress): void;
  /** Default: `figureLimits`. */
  figureLimits?: FigureLimits;
  /** Milliseconds that packing may take in addition to what the size needs. Default: 10 minutes. */
  packTimeoutMs?: number;
}

type BackupStep = 'reading refs' | 'cloning' | 'writing the archive' | 'counting';

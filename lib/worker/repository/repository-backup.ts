import type { RetentionPolicy } from '../../config/archives.ts';
import type { Git } from '../../git/git.ts';
import type { KeptArchive } from '../archive/archive.ts';
import type { FigureLimits } from '../archive/figures.ts';
import type { Progress } from '../progress.ts';
import type { Source } from '../source.ts';
import type { Hold } from '../versions/retention.ts';
import type { VersionFacts } from '../versions/version-facts.ts';

/**
 * How the backup of one repository ended, unless it failed. `empty` has no ref at all: a repository with
 * commits only at a detached HEAD has no branch or tag either, but is archived.
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
  source: Source;
  /** Calls to a hanging file system end with it, like those of git. */
  signal: AbortSignal;
  runId: number | null;
  /** SHA-256 of the archive in the database; null if there is none. */
  recordedSha256: string | null;
  /** The versions in the database: the number of the newest, and how many can be restored. */
  recordedVersions: { newest: number; restorable: number };
  /** What holds back the pruning of versions. */
  hold: Hold;
  /** Whether a file of the archive was found to be damaged, which its size and time do not tell. */
  isDamaged: boolean;
  /** Milliseconds since the epoch, as far as known: `checkClock` corrects it. */
  now(): number;
  /** Says how this machine's clock is wrong; null if it is right or cannot be checked. */
  checkClock(): Promise<string | null>;
  /** Which versions are kept. */
  retention: RetentionPolicy;
  /** From this size of its full bundle on, an archive gets increments. */
  incrementsFromBytes: number;
  /** Throws if the archive may be another worker's by now. Called before anything in it is replaced. */
  checkLease(): Promise<void>;
  /** Called before each step. */
  onStep(step: BackupStep): Promise<void>;
  /** Called as soon as a new archive is published, before counting. */
  onPublished(archive: KeptArchive): Promise<void>;
  /** Called with each new version, once its archive is published. */
  onVersion(version: VersionFacts): Promise<void>;
  /** Called with the last version of a source that had refs and has none now, and their number. */
  onEmptied(version: number, refCount: number): Promise<void>;
  /** Called with the numbers of versions that were pruned. */
  onPruned(versions: readonly number[]): Promise<void>;
  /** Called with what a person should know. */
  onRemark(level: 'info' | 'warn' | 'error', text: string): Promise<void>;
  /** Called with git's own progress. */
  onProgress?(progress: Progress): void;
  /** Default: `figureLimits`. */
  figureLimits?: FigureLimits;
  /** Milliseconds that packing may take, in addition to what the size needs. Default: 10 minutes. */
  packTimeoutMs?: number;
}

type BackupStep = 'reading refs' | 'cloning' | 'writing the archive' | 'counting';

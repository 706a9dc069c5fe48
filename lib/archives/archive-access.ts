import { createCallerLimit } from '../caller-limit.ts';
import type { Clock } from '../clock.ts';
import type { Environment } from '../config/read.ts';
import type { RecordedArchive } from './archive-owner.ts';
import { createWorkspaces, type Workspaces } from './git-workspace.ts';
import { createKeptUnpacked, type KeptUnpacked } from './kept-unpacked.ts';
import { type ArchiveLimits, archiveLimits } from './limits.ts';
import { type OpenArchive, openArchive } from './open-archive.ts';

/** A call that reads an archive. */
export interface ArchiveCall {
  signal: AbortSignal;
  /** One caller never gets all concurrent slots. Calls without a caller count as one caller. */
  caller?: string | undefined;
}

/** Where archives are, and what is needed to read them. */
export interface ArchiveAccessOptions {
  /** The archive folder (BACKUP_ARCHIVE_PATH). */
  root: string;
  /** Looks up the record of `owner/name`; null if there is none. */
  findRecord(repository: string, signal: AbortSignal): Promise<RecordedArchive | null>;
  /** Where bundles are unpacked: a folder with enough disk space. */
  scratchFolder: string;
  /** Only PATH is used, to find git. */
  environment: Environment;
  clock: Clock;
  /** Default: `archiveLimits`. */
  limits?: Partial<ArchiveLimits>;
}

/** Opens the archives of one folder. */
export interface ArchiveAccess {
  limits: ArchiveLimits;
  workspaces: Workspaces;
  kept: KeptUnpacked;
  /** Opens an archive with its record. The caller closes the handle. */
  open(
    repository: string,
    call: ArchiveCall,
  ): Promise<{ archive: OpenArchive; record: RecordedArchive | null }>;
  /** Opens an archive for work that may be slow. Waits for a slot, and closes the archive afterwards. */
  use<Answer>(
    repository: string,
    call: ArchiveCall,
    work: (archive: OpenArchive, record: RecordedArchive | null) => Promise<Answer>,
  ): Promise<Answer>;
}

/** Each call may use all cores and up to 16 GiB of disk, besides what is kept unpacked. */
const AT_ONCE = { total: 4, perCaller: 2 };

/** Opens archives below one folder. Never writes to it, and never follows links out of it. */
export function createArchiveAccess(options: ArchiveAccessOptions): ArchiveAccess {
  const { root, findRecord } = options;
  const limits = { ...archiveLimits, ...options.limits };
  const limit = createCallerLimit(AT_ONCE);

  const open: ArchiveAccess['open'] = async (repository, { signal }) => {
    const record = await findRecord(repository, signal);
    const find = (name: string) => findRecord(name, signal);
    return { archive: await openArchive(root, repository, record, find), record };
  };
  return {
    limits,
    workspaces: createWorkspaces({ ...options, limits }),
    kept: createKeptUnpacked(options.scratchFolder),
    open,
    async use(repository, call, work) {
      const { archive, record } = await open(repository, call);
      try {
        return await limit(call.caller ?? '', call.signal, () => work(archive, record));
      } finally {
        await archive.close();
      }
    },
  };
}

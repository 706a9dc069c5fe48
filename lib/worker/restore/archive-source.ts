import { readdir } from 'node:fs/promises';
import type { FindRecord } from '../../archives/base/archive-owner.ts';
import type { VersionChoice } from '../../archives/chain/choose-version.ts';
import { nullIfMissing } from '../../files.ts';
import { describeUnnamed, listRestorableRepositories } from '../../restore/list-archives.ts';

/** Where archives are restored from. */
export interface ArchiveSource {
  /** The repositories to restore with `--all`, and faults of archives that cannot be named. */
  list(): Promise<{ repositories: string[]; faults: string[] }>;
  /**
   * Provides an archive folder with a version of a repository, which `restore` writes to `target`. Throws AppError.
   */
  use<Result>(
    request: { repository: string; choice: VersionChoice; target: string },
    restore: (archives: AvailableArchive) => Promise<Result>,
  ): Promise<Result>;
  /**
   * Whether `use` may leave out a version of a repository: it is `locked` for want of a key, or `unencrypted` although
   * an identity was given. Null if neither.
   */
  findLeftOut(repository: string, version: number): Promise<'locked' | 'unencrypted' | null>;
  /** Whether it is a folder without anything of ours, such as the mount point of a disk that is not mounted. */
  looksUnmounted(): Promise<boolean>;
  close(): Promise<void>;
}

/** An archive folder with a version. */
export interface AvailableArchive {
  root: string;
  repository: string;
  choice: VersionChoice;
  /** What else says whose archive is in the folder. */
  findRecord?: FindRecord;
}

/** What has the name of an archive, but is no file. */
async function listBlocked(root: string): Promise<string[]> {
  const entries = (await nullIfMissing(readdir(root, { withFileTypes: true }))) ?? [];
  return entries
    .filter((entry) => entry.name.endsWith('.bundle') && !entry.isFile() && !entry.isSymbolicLink())
    .map(({ name }) => `${name} is not a file, so that its repository is left out`);
}

/** The archive folder of this machine. `findRecord`: what the database says about whose an archive is. */
export function openArchiveFolder(root: string, findRecord?: FindRecord): ArchiveSource {
  const known = findRecord === undefined ? {} : { findRecord };
  return {
    async list() {
      const { repositories, others } = await listRestorableRepositories(root);
      return {
        repositories,
        faults: [...others.map(describeUnnamed), ...(await listBlocked(root))],
      };
    },
    use: ({ repository, choice }, restore) => restore({ root, repository, choice, ...known }),
    findLeftOut: async () => null,
    looksUnmounted: async () => false,
    close: async () => undefined,
  };
}

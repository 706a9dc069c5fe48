import type { VersionChoice } from '../../restore/choose-version.ts';
import { listRepositories } from '../../restore/list-archives.ts';

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
  close(): Promise<void>;
}

/** An archive folder with a version. */
export interface AvailableArchive {
  root: string;
  repository: string;
  choice: VersionChoice;
}

/** The archive folder of this machine. */
export function openArchiveFolder(root: string): ArchiveSource {
  return {
    list: async () => ({ repositories: await listRepositories(root), faults: [] }),
    use: ({ repository, choice }, restore) => restore({ root, repository, choice }),
    findLeftOut: async () => null,
    close: async () => undefined,
  };
}

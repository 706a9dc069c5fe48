import { statfs } from 'node:fs/promises';
import type { Clock } from '../../clock.ts';
import type { Environment } from '../../config/read.ts';
import { AppError } from '../../errors.ts';
import { createGit, type Git, GitError, isGitFailure } from '../../git/git.ts';
import { makeScratch, removeScratch, sweepScratch } from '../../processes/scratch.ts';
import type { ArchiveLimits } from './limits.ts';

/** A scratch folder, and git restricted to it. */
export interface Workspace {
  git: Git;
  /** Empty at first. */
  folder: string;
}

/** How a workspace is used. */
interface WorkspaceUse {
  signal: AbortSignal;
  /** How much git will unpack. */
  sizeBytes: number;
}

interface WorkspaceOptions {
  /** Where scratch folders are created; needs disk space for unpacked bundles. */
  scratchFolder: string;
  environment: Environment;
  clock: Clock;
  /** Time limit of one command, and the size for which it gets one more millisecond. */
  limits: Pick<ArchiveLimits, 'gitTimeoutMs' | 'gitBytesPerMs'>;
  /** The name of the scratch folder in errors. */
  scratchName?: string;
  /** Whether what git writes must survive a power failure. Default: false. */
  isDurable?: boolean;
}

/** Provides workspaces in which bundles are unpacked. */
export interface Workspaces {
  /**
   * Runs `work` in a workspace, which is always removed afterwards. Throws SERVICE_UNAVAILABLE if git is
   * missing or there is too little time or disk space, or the signal's reason.
   */
  use<Result>(use: WorkspaceUse, work: (workspace: Workspace) => Promise<Result>): Promise<Result>;
}

/** git's messages for problems of the machine, not of the archive. */
const ofTheMachine =
  /no space left|disk quota|out of memory|died of signal|cannot allocate|attempting to allocate|unable to (create|write|mmap|map)|cannot (create|pread|fork)|too many open files|read-only file system|permission denied|input\/output error|read error on input/i;

/** Creates workspaces below `scratchFolder`, and removes those of killed processes first. */
export function createWorkspaces(options: WorkspaceOptions): Workspaces {
  const { scratchFolder, environment, clock, limits, isDurable = false } = options;
  const { scratchName = 'the folder for temporary files (TMPDIR)' } = options;
  let swept: Promise<unknown> | undefined;

  const makeFolder = async () => {
    try {
      // A leftover that cannot be removed only wastes space; a workspace does not need its place.
      swept ??= sweepScratch(scratchFolder, clock.now());
      await swept;
      return await makeScratch(scratchFolder);
    } catch (error) {
      // Try again with the next call: the folder may exist by then.
      swept = undefined;
      const reason = `${scratchName} is missing or cannot be written`;
      throw new AppError('SERVICE_UNAVAILABLE', reason, { cause: error });
    }
  };

  return {
    async use({ signal, sizeBytes }, work) {
      const folder = await makeFolder();
      try {
        await checkRoom(folder, scratchName, sizeBytes);
        const git = createGit(gitEnvironment(environment, folder, isDurable), signal, {
          protocols: 'none',
          timeoutMs: limits.gitTimeoutMs + sizeBytes / limits.gitBytesPerMs,
        });
        return await work({ git, folder });
      } catch (error) {
        throw explain(error);
      } finally {
        await removeScratch(folder);
      }
    },
  };
}

async function checkRoom(folder: string, name: string, sizeBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  // The pack and its index.
  if (bavail * bsize > sizeBytes * 1.2) return;
  throw new AppError('SERVICE_UNAVAILABLE', `${name} has too little space to unpack the bundle`);
}

/** Whether git rejected the archive. */
export function isRejection(error: unknown): error is GitError {
  return isGitFailure(error) && !ofTheMachine.test(error.message);
}

function explain(error: unknown): unknown {
  if (!(error instanceof GitError)) return error;
  const what =
    error.fault === 'missing'
      ? 'git is needed to read a bundle'
      : 'git could not read the bundle because of a problem with this machine, not with the bundle';
  return new AppError('SERVICE_UNAVAILABLE', `${what}: ${error.message}`, { cause: error });
}

/**
 * Only PATH of the environment: no system or user configuration, no attributes, no transports, and no
 * allocations beyond what the largest bundle may need.
 */
function gitEnvironment(environment: Environment, folder: string, isDurable: boolean): Environment {
  return {
    PATH: environment.PATH,
    GIT_STALL_SECONDS: environment.GIT_STALL_SECONDS,
    SystemRoot: environment.SystemRoot,
    HOME: folder,
    XDG_CONFIG_HOME: folder,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_SYSTEM: '/dev/null',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_ALLOC_LIMIT: '2g',
    GIT_CONFIG_COUNT: isDurable ? '1' : '2',
    GIT_CONFIG_KEY_0: 'protocol.allow',
    GIT_CONFIG_VALUE_0: 'never',
    ...(isDurable ? {} : { GIT_CONFIG_KEY_1: 'core.fsync', GIT_CONFIG_VALUE_1: 'none' }),
  };
}

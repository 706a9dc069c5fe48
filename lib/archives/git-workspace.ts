import type { Clock } from '../platform/clock.ts';
import type { Environment } from '../platform/config/read.ts';
import { AppError } from '../platform/errors.ts';
import { createGit, type Git, GitError } from '../platform/git.ts';
import { makeScratch, removeScratch, sweepScratch } from '../platform/scratch.ts';
import { createSlots } from './slots.ts';

/** A scratch folder, and git that may work in it and nowhere else. */
export interface Workspace {
  git: Git;
  /** An empty folder of its own. */
  folder: string;
}

export interface WorkspaceOptions {
  /** Where scratch folders are made; it needs room for the bundles that are unpacked. */
  scratchFolder: string;
  environment: Environment;
  clock: Clock;
  /** Milliseconds that one command may take. */
  gitTimeoutMs: number;
}

/** Lends workspaces, so that a bundle can be unpacked. */
export interface Workspaces {
  /**
   * Runs `work` in a workspace, which is removed however that ends. Two work at a time, the others wait.
   * Throws SERVICE_UNAVAILABLE where git is missing, has no time or no room, or the signal's reason.
   */
  use<Result>(
    signal: AbortSignal,
    work: (workspace: Workspace) => Promise<Result>,
  ): Promise<Result>;
}

/** Each has git's threads for every core, and room of up to 2 GiB. */
const AT_A_TIME = 2;

/** What git says where the machine, not the archive, is at fault. */
const ofTheMachine =
  /no space left|disk quota|out of memory|cannot allocate|attempting to allocate|unable to (create|write|mmap|map)|cannot (create|pread|fork)|too many open files|read-only file system|permission denied|input\/output error|read error on input/i;

/** Lends scratch folders below `scratchFolder`, after it removed those of processes that were killed. */
export function createWorkspaces(options: WorkspaceOptions): Workspaces {
  const { scratchFolder, environment, clock, gitTimeoutMs } = options;
  const slots = createSlots(AT_A_TIME);
  let swept: Promise<unknown> | undefined;

  const makeFolder = async () => {
    try {
      swept ??= sweepScratch(scratchFolder, clock.now());
      await swept;
      return await makeScratch(scratchFolder);
    } catch (error) {
      // The next call sweeps: by then the folder may have been made.
      swept = undefined;
      const reason = 'the folder for temporary files (TMPDIR) is missing or cannot be written';
      throw new AppError('SERVICE_UNAVAILABLE', reason, { cause: error });
    }
  };

  return {
    async use(signal, work) {
      const release = await slots.take(signal);
      try {
        const folder = await makeFolder();
        try {
          const git = createGit(gitEnvironment(environment, folder), signal, {
            protocols: 'none',
            timeoutMs: gitTimeoutMs,
          });
          return await work({ git, folder });
        } catch (error) {
          throw explain(error);
        } finally {
          await removeScratch(folder);
        }
      } finally {
        release();
      }
    },
  };
}

/** Is it the archive that git complains about? */
export function isRefusal(error: unknown): error is GitError {
  return error instanceof GitError && error.fault === 'failed' && !ofTheMachine.test(error.message);
}

function explain(error: unknown): unknown {
  if (!(error instanceof GitError)) return error;
  const what =
    error.fault === 'missing'
      ? 'git is needed to read a bundle'
      : 'git could not read the bundle on this machine, which says nothing about the bundle';
  return new AppError('SERVICE_UNAVAILABLE', `${what}: ${error.message}`, { cause: error });
}

/**
 * Of the environment only where programs are: no configuration of the system or a person, no attributes,
 * no transport at all, no allocation beyond what the largest bundle can ask for.
 */
function gitEnvironment(environment: Environment, folder: string): Environment {
  return {
    PATH: environment.PATH,
    SystemRoot: environment.SystemRoot,
    HOME: folder,
    XDG_CONFIG_HOME: folder,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_SYSTEM: '/dev/null',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_ALLOC_LIMIT: '2g',
    GIT_CONFIG_COUNT: '2',
    GIT_CONFIG_KEY_0: 'protocol.allow',
    GIT_CONFIG_VALUE_0: 'never',
    // A scratch repository need not outlive a power cut.
    GIT_CONFIG_KEY_1: 'core.fsync',
    GIT_CONFIG_VALUE_1: 'none',
  };
}

import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import {
  manifestFolder,
  manifestName,
  parseManifest,
} from '../../../lib/archives/base/manifest.ts';
import { systemClock } from '../../../lib/clock.ts';
import { AppError } from '../../../lib/errors.ts';
import { listRestorableVersions } from '../../../lib/restore/list-archives.ts';
import { restoreVersion } from '../../../lib/restore/restore.ts';
import { git, type TestRepository } from '../../support/git.ts';

const REPOSITORY = 'local/app';
const ARCHIVE = 'local__app.bundle';

/** Every version that an archive ever recorded, and every state that its source ever had. */
export interface Ledger {
  /** Records the current state of the source. */
  noteSource(): Promise<void>;
  /** Records the versions of the archive, and checks that each is a state of the source. Returns their numbers. */
  read(): Promise<number[]>;
  /**
   * Reads the archive, and restores every version that it records. Fails if a version is missing that retention may not
   * remove, or if one has refs that the source never had.
   */
  check(): Promise<void>;
  /** Fails unless the newest version is the current state of the source, and no temporary files are left. */
  checkSettled(): Promise<void>;
}

interface Recorded {
  refs: string;
  warning: string | null;
}

/** Reads the archive of a source in the folder `archives`. Restores into the folder `target`. */
export function createLedger(archives: string, source: TestRepository, target: string): Ledger {
  const states = new Set<string>();
  const recorded = new Map<number, Recorded>();
  let current = '';

  async function list() {
    try {
      return (await listRestorableVersions(archives, REPOSITORY)).versions;
    } catch (error) {
      // Killed before the first archive existed, or even its folder.
      const codes = ['NOT_FOUND', 'SERVICE_UNAVAILABLE'];
      if (error instanceof AppError && codes.includes(error.code)) return [];
      throw error;
    }
  }

  async function read(): Promise<number[]> {
    const listed: number[] = [];
    for (const { version, warning } of await list()) {
      if (version === null) throw new Error('the archive has no versions');
      const path = join(archives, manifestFolder(ARCHIVE), manifestName(version));
      const manifest = parseManifest(await readFile(path, 'utf8'));
      const refs = describe(manifest?.refs ?? {}, manifest?.head_branch ?? null);
      expect(states, `version ${version} is not a state of the source`).toContain(refs);
      const before = recorded.get(version);
      if (before !== undefined) expect(refs, `version ${version} was altered`).toBe(before.refs);
      recorded.set(version, { refs, warning });
      listed.push(version);
    }
    return listed;
  }

  /** Retention keeps the newest version, and versions that have a warning or are followed by one that has. */
  function mayBePruned(version: number): boolean {
    const follower = [...recorded.keys()].sort((a, b) => a - b).find((other) => other > version);
    const warnings = [version, follower ?? version].map((one) => recorded.get(one)?.warning);
    return follower !== undefined && warnings.every((warning) => warning === null);
  }

  return {
    async noteSource() {
      current = await describeRepository(source.path);
      states.add(current);
    },
    read,
    async check() {
      const listed = new Set(await read());
      for (const version of recorded.keys()) {
        const isFine = listed.has(version) || mayBePruned(version);
        expect(isFine, `version ${version} no longer exists`).toBe(true);
      }
      for (const version of listed) {
        const request = {
          root: archives,
          repository: REPOSITORY,
          ref: null,
          isBare: true,
          isLimited: true,
          target,
        };
        const { signal } = new AbortController();
        const context = { environment: { PATH: process.env.PATH }, clock: systemClock, signal };
        try {
          await restoreVersion({ ...request, choice: { version } }, context);
        } catch (error) {
          throw new Error(`version ${version} cannot be restored: ${error}`, { cause: error });
        }
        expect(await describeRepository(target)).toBe(recorded.get(version)?.refs);
        await rm(target, { recursive: true });
      }
    },
    async checkSettled() {
      const newest = (await read()).at(-1) ?? 0;
      expect(recorded.get(newest)?.refs).toBe(current);
      const left = (await readdir(archives)).filter((name) => name.startsWith('.scratch'));
      expect(left).toEqual([]);
    },
  };
}

/** Describes refs with HEAD and its branch, in a text that is equal exactly if they are. */
function describe(refs: Record<string, string>, headBranch: string | null): string {
  const lines = Object.entries(refs).map(([name, id]) => `${id} ${name}`);
  return [...lines.sort(), `HEAD is ${headBranch}`].join('\n');
}

async function describeRepository(path: string): Promise<string> {
  const lines = (await git(path, 'show-ref', '--head')).split('\n');
  const refs = Object.fromEntries(lines.map((line) => line.split(' ').reverse()));
  return describe(refs, await git(path, 'symbolic-ref', 'HEAD'));
}

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../../clock.ts';
import { pushChanges } from '../../../stores/git/push-changes.ts';
import {
  type CloneOptions,
  openClone,
  type RepositoryClone,
} from '../../../stores/git/repository-clone.ts';
import { readFiles } from '../../../stores/git/tree.ts';

/** A clone of a destination that keeps archives at its root. */
export interface PushClone extends Pick<RepositoryClone, 'gitDir' | 'tip'> {
  /** The files of the default branch: ids by path. */
  files(): ReadonlyMap<string, string>;
  /** Commits and pushes a file as `name` at the root. False if its content is already there. */
  put(name: string, file: string, message: string): Promise<boolean>;
}

interface PushCloneOptions extends CloneOptions {
  clock: Clock;
  signal: AbortSignal;
}

/** Clones the destination. Throws GitError, or what `credential` throws. */
export async function openPushClone(options: PushCloneOptions): Promise<PushClone> {
  const { clock, signal } = options;
  const clone = await openClone(options);
  const { gitDir, tip } = clone;
  let files = await readFiles(clone, tip());
  return {
    ...{ gitDir, tip },
    files: () => files,
    async put(name, file, message) {
      const id = (await clone.local(['hash-object', '-w', '--no-filters', '--', file])).trim();
      const changes = () => new Map(files.get(name) === id ? [] : [[name, id]]);
      let isNew = changes().size > 0;
      const push = {
        ...{ clone, clock, signal },
        beforePush: async () => undefined,
        // No retry here: the next run pushes again.
        pauseAfter: () => null,
        async rebase() {
          files = await readFiles(clone, tip());
          isNew = changes().size > 0;
          return { changes: changes(), message };
        },
      };
      try {
        await pushChanges(push, { changes: changes(), message });
        files.set(name, id);
        return isNew;
      } finally {
        // Otherwise a run would need disk space for all its archives again.
        await rm(join(gitDir, 'objects', id.slice(0, 2), id.slice(2)), { force: true });
      }
    },
  };
}

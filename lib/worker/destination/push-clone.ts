import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../clock.ts';
import { GitError } from '../../git/git.ts';
import {
  type CloneOptions,
  MAX_FRUITLESS_PUSHES,
  MAX_PUSHES,
  openClone,
  overtaken,
  PUSH_PAUSE_MS,
  type RepositoryClone,
} from '../../stores/git/repository-clone.ts';

/** An entry of the tree at the destination's root, by its name. */
interface RootEntry {
  mode: string;
  type: string;
  id: string;
}

/** A clone of a destination that keeps archives at its root. */
export interface PushClone extends Pick<RepositoryClone, 'gitDir' | 'tip' | 'stream'> {
  /** Id of a file at the root of the default branch; null if there is none. */
  blobOf(name: string): string | null;
  /** Commits and pushes a file as `name` at the root. False if its content is already there. */
  put(name: string, file: string, message: string): Promise<boolean>;
}

export interface PushCloneOptions extends CloneOptions {
  clock: Clock;
  signal: AbortSignal;
}

/** Clones the destination. Throws GitError, or what `credential` throws. */
export async function openPushClone(options: PushCloneOptions): Promise<PushClone> {
  const { clock, signal } = options;
  const clone = await openClone(options);
  const { gitDir, local, tip } = clone;

  let root = new Map<string, RootEntry>();
  const readRoot = async () => {
    const commit = tip();
    root = commit === null ? new Map() : parseTree(await local(['ls-tree', '-z', commit]));
  };
  await readRoot();

  const commitWith = async (name: string, id: string, message: string) => {
    const entries = new Map(root).set(name, { mode: '100644', type: 'blob', id });
    // With --missing, because the other files are not here.
    const tree = await local(['mktree', '-z', '--missing'], { stdin: formatTree(entries) });
    const before = tip();
    const parent = before === null ? [] : ['-p', before];
    const commit = await local(['commit-tree', tree.trim(), ...parent, '-m', message]);
    return { commit: commit.trim(), entries };
  };

  return {
    ...{ gitDir, tip, stream: clone.stream },
    blobOf: (name) => root.get(name)?.id ?? null,
    async put(name, file, message) {
      const id = (await local(['hash-object', '-w', '--no-filters', '--', file])).trim();
      try {
        for (let attempt = 1, fruitless = 0; ; attempt++) {
          if (root.get(name)?.id === id) return false;
          const { commit, entries } = await commitWith(name, id, message);
          try {
            await clone.push(commit);
            await clone.moveTo(commit);
            root = entries;
            return true;
          } catch (error) {
            if (!(error instanceof GitError && overtaken.test(error.message))) throw error;
            const before = tip();
            await clone.fetchTip();
            await readRoot();
            fruitless = tip() === before ? fruitless + 1 : 0;
            if (attempt >= MAX_PUSHES || fruitless >= MAX_FRUITLESS_PUSHES) throw error;
            if (fruitless > 0) await clock.sleep(PUSH_PAUSE_MS * fruitless, signal);
          }
        }
      } finally {
        // Otherwise a run would need disk space for all its archives again.
        await rm(join(gitDir, 'objects', id.slice(0, 2), id.slice(2)), { force: true });
      }
    },
  };
}

function parseTree(text: string): Map<string, RootEntry> {
  const root = new Map<string, RootEntry>();
  for (const record of text.split('\0')) {
    const [facts = '', name] = [
      record.slice(0, record.indexOf('\t')),
      record.slice(record.indexOf('\t') + 1),
    ];
    const [mode = '', type = '', id = ''] = facts.split(' ');
    if (name !== undefined && id !== '') root.set(name, { mode, type, id });
  }
  return root;
}

function formatTree(entries: ReadonlyMap<string, RootEntry>): string {
  return [...entries]
    .map(([name, { mode, type, id }]) => `${mode} ${type} ${id}\t${name}\0`)
    .join('');
}

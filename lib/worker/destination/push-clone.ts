import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../platform/clock.ts';
import { type Git, GitError, type GitOptions } from '../../platform/git.ts';
import type { GitCredential } from '../../platform/git-credential.ts';
import type { PushTarget } from './target.ts';

/** An entry of the tree at the destination's root, by its name. */
interface RootEntry {
  mode: string;
  type: string;
  id: string;
}

/** A clone of the destination that commits are made in: its history and trees, without files. */
export interface PushClone {
  readonly gitDir: string;
  /** The commit of the default branch; null while it has none. */
  tip(): string | null;
  /** Id of the file at the root of the default branch; null when there is none. */
  blobOf(name: string): string | null;
  /** Makes a file the content of `name` at the root. Returns false when it is that already. */
  put(name: string, file: string, message: string): Promise<boolean>;
}

export interface PushCloneOptions {
  git: Git;
  clock: Clock;
  signal: AbortSignal;
  target: PushTarget;
  /** Where the clone is made. */
  gitDir: string;
  /** For each call anew; null where git has credentials of its own. */
  credential(): Promise<GitCredential | null>;
}

const TRANSFER_TIMEOUT_MS = 2 * 60 * 60_000;
/** Each time another worker was faster; of those that push at once, one succeeds each time. */
const MOST_ATTEMPTS = 20;
/** Without a commit of anybody else's in between: the refusal was of another kind. */
const MOST_FRUITLESS_ATTEMPTS = 4;
const PAUSE_MS = 500;
/** Somebody else was faster. What a hook or a protected branch refuses is not among these. */
const overtaken =
  /\[rejected\]|fetch first|non-fast-forward|cannot lock ref|failed to update ref|incorrect old value/;

/** Clones the destination. Throws GitError, or what `credential` throws. */
export async function openPushClone(options: PushCloneOptions): Promise<PushClone> {
  const { git, clock, signal, target, gitDir, credential } = options;
  const local = async (...args: string[]) => git.read([`--git-dir=${gitDir}`, ...args]);
  const transfer = async (): Promise<GitOptions> => ({
    protocols: target.protocols,
    timeoutMs: TRANSFER_TIMEOUT_MS,
    credential: await credential(),
  });
  // A path's objects are used where they are. Of a remote the files, which may be many GB, are not read.
  const partial = target.kind === 'local' ? ['--shared'] : ['--no-local', '--filter=blob:none'];
  const clone = ['clone', '--quiet', '--mirror', '--template=', ...partial];
  await git.read([...clone, '--', target.location, gitDir], await transfer());
  // Archives are compressed already.
  await local('config', 'core.compression', '0');
  const branch = (await local('symbolic-ref', '--quiet', 'HEAD')).trim();

  let tip: string | null = null;
  let root = new Map<string, RootEntry>();
  const readTip = async () => {
    tip = (await local('for-each-ref', '--format=%(objectname)', branch)).trim() || null;
    root = tip === null ? new Map() : parseTree(await local('ls-tree', '-z', tip));
  };
  await readTip();

  const fetchTip = async () => {
    const filter = target.kind === 'local' ? [] : ['--filter=blob:none'];
    const fetch = ['fetch', '--quiet', '--prune', '--no-write-fetch-head', ...filter, 'origin'];
    await git.read([`--git-dir=${gitDir}`, ...fetch], await transfer());
    await readTip();
  };
  const commitWith = async (name: string, id: string, message: string) => {
    const entries = new Map(root).set(name, { mode: '100644', type: 'blob', id });
    // --missing: the other files are not here.
    const tree = await git.read([`--git-dir=${gitDir}`, 'mktree', '-z', '--missing'], {
      stdin: formatTree(entries),
    });
    const parent = tip === null ? [] : ['-p', tip];
    const made = await local('commit-tree', tree.trim(), ...parent, '-m', message);
    return { commit: made.trim(), entries };
  };
  const push = async (commit: string) => {
    // Not thin: git would look for the file's old version, which is not here, to compare.
    const plain = ['--quiet', '--no-thin', '--no-verify', '--no-signed', '--no-follow-tags'];
    const args = ['push', ...plain, '--recurse-submodules=no', '--', target.location];
    await git.read([`--git-dir=${gitDir}`, ...args, `${commit}:${branch}`], await transfer());
  };

  return {
    gitDir,
    tip: () => tip,
    blobOf: (name) => root.get(name)?.id ?? null,
    async put(name, file, message) {
      const id = (await local('hash-object', '-w', '--no-filters', '--', file)).trim();
      try {
        for (let attempt = 1, fruitless = 0; ; attempt++) {
          if (root.get(name)?.id === id) return false;
          const { commit, entries } = await commitWith(name, id, message);
          try {
            await push(commit);
            await local('update-ref', branch, commit);
            tip = commit;
            root = entries;
            return true;
          } catch (error) {
            if (!(error instanceof GitError && overtaken.test(error.message))) throw error;
            const before = tip;
            await fetchTip();
            fruitless = tip === before ? fruitless + 1 : 0;
            if (attempt >= MOST_ATTEMPTS || fruitless >= MOST_FRUITLESS_ATTEMPTS) throw error;
            if (fruitless > 0) await clock.sleep(PAUSE_MS * fruitless, signal);
          }
        }
      } finally {
        // Otherwise a run would need the room of all its archives once more.
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

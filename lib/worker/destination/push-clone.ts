import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../clock.ts';
import { type Git, GitError, type GitOptions } from '../../git/git.ts';
import type { GitCredential } from '../../git/git-credential.ts';
import type { PushTarget } from './target.ts';

/** An entry of the tree at the destination's root, by its name. */
interface RootEntry {
  mode: string;
  type: string;
  id: string;
}

/** A clone of the destination to commit in, with its history and trees but without files. */
export interface PushClone {
  readonly gitDir: string;
  /** The commit of the default branch; null if it has none. */
  tip(): string | null;
  /** Id of a file at the root of the default branch; null if there is none. */
  blobOf(name: string): string | null;
  /** Commits and pushes a file as `name` at the root. False if its content is already there. */
  put(name: string, file: string, message: string): Promise<boolean>;
}

export interface PushCloneOptions {
  git: Git;
  clock: Clock;
  signal: AbortSignal;
  target: PushTarget;
  gitDir: string;
  /** Called for each transfer; null if git has its own credentials. */
  credential(): Promise<GitCredential | null>;
}

const TRANSFER_TIMEOUT_MS = 2 * 60 * 60_000;
/** If several workers push at the same time, one of them succeeds with each attempt. */
const MAX_ATTEMPTS = 20;
/** If there are no new commits after that many attempts, the push was rejected for another reason. */
const MAX_FRUITLESS_ATTEMPTS = 4;
const PAUSE_MS = 500;
/** Another push was first. Hooks and protected branches give other messages. */
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
  // The objects of a local path are used in place; the files of a remote, maybe many GB, are not fetched.
  const partial = target.kind === 'local' ? ['--shared'] : ['--no-local', '--filter=blob:none'];
  const clone = ['clone', '--quiet', '--mirror', '--template=', ...partial];
  await git.read([...clone, '--', target.location, gitDir], await transfer());
  // Archives are already compressed.
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
    // With --missing, because the other files are not here.
    const tree = await git.read([`--git-dir=${gitDir}`, 'mktree', '-z', '--missing'], {
      stdin: formatTree(entries),
    });
    const parent = tip === null ? [] : ['-p', tip];
    const commit = await local('commit-tree', tree.trim(), ...parent, '-m', message);
    return { commit: commit.trim(), entries };
  };
  const push = async (commit: string) => {
    // Not thin: git would compare with the file's old version, which is not here.
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
            if (attempt >= MAX_ATTEMPTS || fruitless >= MAX_FRUITLESS_ATTEMPTS) throw error;
            if (fruitless > 0) await clock.sleep(PAUSE_MS * fruitless, signal);
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

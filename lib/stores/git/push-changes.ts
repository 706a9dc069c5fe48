import type { Clock } from '../../clock.ts';
import { GitError } from '../../git/git.ts';
import type { RepositoryClone } from './repository-clone.ts';
import { type Changes, writeTree } from './tree.ts';

/** Attempts to push while others push first. In each of them, somebody else succeeded. */
const MAX_PUSHES = 20;
/** After this many attempts without a new commit in the repository, the push was rejected for another reason. */
const MAX_FRUITLESS_PUSHES = 4;
/** The pause after an attempt without a new commit, multiplied by their number. */
const PUSH_PAUSE_MS = 500;
/** Another push came first. Hooks and protected branches have other messages. */
const overtaken =
  /\[rejected\]|fetch first|non-fast-forward|cannot lock ref|failed to update ref|incorrect old value/;

interface PushOptions {
  clone: RepositoryClone;
  clock: Clock;
  signal: AbortSignal;
  /** Called before each push. */
  beforePush(): Promise<void>;
  /** Milliseconds to wait after a failure; null if a retry is pointless. */
  pauseAfter(error: GitError, tries: number): number | null;
  /** Called when there is a new tip. Returns the changes to make to it. */
  rebase(): Promise<{ changes: Changes; message: string }>;
}

/**
 * Makes one commit of changes and pushes it, retrying on top of other pushes. Returns once the commit was seen on the
 * repository's default branch. Throws GitError, or whatever `beforePush` throws.
 */
export async function pushChanges(
  options: PushOptions,
  first: { changes: Changes; message: string },
): Promise<void> {
  const { clone, clock, signal, beforePush, pauseAfter, rebase } = options;
  let { changes, message } = first;
  let failures = 0;
  for (let attempt = 1, fruitless = 0; changes.size > 0; attempt++) {
    const before = clone.tip();
    const tree = await writeTree(clone, before, changes);
    const parent = before === null ? [] : ['-p', before];
    const commit = (await clone.local(['commit-tree', tree, ...parent, '-m', message])).trim();
    await beforePush();
    try {
      await clone.push(commit);
      return await requirePushed(clone, commit);
    } catch (error) {
      if (!(error instanceof GitError)) throw error;
      const isOvertaken = overtaken.test(error.message);
      const pauseMs = isOvertaken ? 0 : pauseAfter(error, ++failures);
      if (pauseMs === null) throw error;
      if (pauseMs > 0) await clock.sleep(pauseMs, signal);
      // The push may have succeeded with only its answer lost.
      if (await isThere(clone, commit)) return;
      fruitless = clone.tip() === before ? fruitless + 1 : 0;
      if (attempt >= MAX_PUSHES || fruitless >= MAX_FRUITLESS_PUSHES) throw error;
      if (fruitless > 0 && pauseMs === 0) await clock.sleep(PUSH_PAUSE_MS * fruitless, signal);
      ({ changes, message } = await rebase());
    }
  }
}

/** Throws GitError unless a commit that was pushed is on the default branch: a server may accept it and drop it. */
export async function requirePushed(clone: RepositoryClone, commit: string): Promise<void> {
  if (await isThere(clone, commit)) return;
  throw new GitError('the push was accepted, but the commit is not on the branch');
}

/** Whether the default branch has a commit; reads its current state. */
async function isThere(clone: RepositoryClone, commit: string): Promise<boolean> {
  await clone.fetchTip();
  const tip = clone.tip();
  if (tip === commit) return true;
  if (tip === null) return false;
  // Empty if all commits leading to it are there as well.
  const missing = await clone.local(['rev-list', '--max-count=1', commit, `^${tip}`]);
  return missing.trim() === '';
}

import type { Git } from '../../git/git.ts';
import type { RepositoryFigures } from '../archive/figures.ts';
import type { Mirror } from '../mirror/mirror.ts';
import type { Refs } from '../mirror/refs.ts';
import { isRewritten } from './overwritten.ts';

const BRANCHES = 'refs/heads/';
const SHORT_ID = 12;
/** Fewer refs come and go every day. */
const FEW_REFS = 4;

/** The refs of a source, and the branch of its HEAD. */
interface Snapshot {
  refs: Refs;
  headBranch: string | null;
}

/**
 * What happened to the default branch that a person should look at, with before and after; null if nothing. Throws
 * GitError.
 */
export async function warnOfMain(
  git: Git,
  mirror: Mirror,
  before: Snapshot,
  now: Refs,
): Promise<string | null> {
  const { headBranch } = before;
  const main = headBranch === null ? undefined : before.refs.get(headBranch);
  if (headBranch !== null && main !== undefined) {
    const branch = headBranch.slice(BRANCHES.length);
    const after = now.get(headBranch);
    const was = main.slice(0, SHORT_ID);
    if (after === undefined) return `the default branch ${branch} was deleted; it was at ${was}`;
    if (after !== main && (await isRewritten(git, mirror, main, after))) {
      return `the history of ${branch} was rewritten: ${was} became ${after.slice(0, SHORT_ID)}`;
    }
  }
  return null;
}

/** Whether enough refs are gone that a person should look. */
export function areMostGone(had: number, has: number): boolean {
  return had >= FEW_REFS && has * 2 < had;
}

/** What shrank to half or less. */
export interface Shrunk {
  text: string;
  what: string;
  before: number;
  after: number;
}

/** Compares what a repository holds; null if that is ordinary. Figures that were not counted are not compared. */
export function warnOfSize(before: RepositoryFigures, now: RepositoryFigures): Shrunk | null {
  const isCounted = (what: 'commits' | 'files') =>
    !before.uncounted.includes(what) && !now.uncounted.includes(what);
  if (isCounted('commits') && now.total_commits * 2 <= before.total_commits) {
    const [had, has] = [before.total_commits, now.total_commits];
    const text = `the repository shrank: ${had} commits became ${has}`;
    return { text, what: 'commits', before: had, after: has };
  }
  const [had, has] = [before.total_blob_size_bytes, now.total_blob_size_bytes];
  if (isCounted('files') && has * 2 <= had && had > 0) {
    const text = `the files of HEAD shrank: ${had} bytes became ${has}`;
    return { text, what: 'bytes of files', before: had, after: has };
  }
  return null;
}

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
 * Why a person should look at what a source has changed, with before and after; null if it is ordinary. Such a
 * version holds back the pruning of those before it. Throws GitError.
 */
export async function warnOfRefs(
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
  const [had, has] = [before.refs.size, now.size];
  if (had >= FEW_REFS && has * 2 < had) return `most refs are gone: ${had} became ${has}`;
  return null;
}

/** The same for what a repository holds. Figures that were not counted are not compared. */
export function warnOfSize(before: RepositoryFigures, now: RepositoryFigures): string | null {
  const isCounted = (what: 'commits' | 'files') =>
    !before.uncounted.includes(what) && !now.uncounted.includes(what);
  if (isCounted('commits') && now.total_commits * 2 <= before.total_commits) {
    return `the repository shrank: ${before.total_commits} commits became ${now.total_commits}`;
  }
  const [had, has] = [before.total_blob_size_bytes, now.total_blob_size_bytes];
  if (isCounted('files') && has * 2 <= had && had > 0) {
    return `the files of HEAD shrank: ${had} bytes became ${has}`;
  }
  return null;
}

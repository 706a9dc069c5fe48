import { corrupt } from '../archives/base/archive-fault.ts';
import { isRejection } from '../archives/base/git-workspace.ts';
import type { VersionRefs } from '../archives/chain/version-refs.ts';
import type { Git } from '../git/git.ts';
import { listRefs } from '../git/list-refs.ts';
import { writePackedRefs } from '../git/packed-refs.ts';

/**
 * Creates refs and HEAD in a repository without refs, then reads them back with git. Throws CORRUPT_ARCHIVE if git
 * reads different ones, and GitError.
 */
export async function writeRefs(git: Git, gitDir: string, wanted: VersionRefs): Promise<void> {
  if (wanted.refs.size > 0) await writePackedRefs(gitDir, wanted.refs);
  const head = await setHead(git, gitDir, wanted.head);
  const found = await listRefs(git, gitDir);
  const isSame =
    found.size === wanted.refs.size &&
    [...wanted.refs].every(([name, id]) => found.get(name) === id);
  if (!isSame || (await readHead(git, gitDir)) !== head) {
    throw corrupt('the restored refs are not those that were recorded');
  }
}

/** The commit that HEAD resolves to; null if there is none. */
export async function readHeadCommit(git: Git, gitDir: string): Promise<string | null> {
  return resolve(git, gitDir, 'HEAD^{commit}');
}

/** Returns the value that HEAD must have when it is read back. */
async function setHead(git: Git, gitDir: string, head: VersionRefs['head']): Promise<string> {
  // A reflog of HEAD would need a user name.
  const options = [`--git-dir=${gitDir}`, '-c', 'core.logAllRefUpdates=false'];
  if ('branch' in head) {
    await git.read([...options, 'symbolic-ref', 'HEAD', head.branch]);
    return head.branch;
  }
  // HEAD may only be a commit, and an annotated tag resolves to one.
  const commit = await resolve(git, gitDir, `${head.id}^{commit}`);
  if (commit === null) return readHead(git, gitDir);
  await git.read([...options, 'update-ref', '--no-deref', 'HEAD', commit]);
  return commit;
}

/** The branch of HEAD, or its commit if it is detached. */
async function readHead(git: Git, gitDir: string): Promise<string> {
  const branch = await nullIfRejected(
    git.read([`--git-dir=${gitDir}`, 'symbolic-ref', '--quiet', 'HEAD']),
  );
  return branch?.trim() ?? (await resolve(git, gitDir, 'HEAD')) ?? '';
}

async function resolve(git: Git, gitDir: string, revision: string): Promise<string | null> {
  const args = [`--git-dir=${gitDir}`, 'rev-parse', '--quiet', '--verify', '--end-of-options'];
  const found = await nullIfRejected(git.read([...args, revision]));
  return found?.trim() ?? null;
}

async function nullIfRejected(answer: Promise<string>): Promise<string | null> {
  try {
    return await answer;
  } catch (error) {
    if (isRejection(error)) return null;
    throw error;
  }
}

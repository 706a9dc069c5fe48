import { readdir, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { nullIfMissing } from '../../files.ts';
import { type Git, GitError, type GitOptions } from '../../git/git.ts';
import { readPackedRefs } from '../../git/packed-refs.ts';
import { makeScratch, removeScratch } from '../../processes/scratch.ts';
import { makeArchiveFolder } from '../archive/archive.ts';
import { type Mirror, removeMirror } from '../mirror/mirror.ts';
import { adoptRefs, packRefs } from '../mirror/mirror-refs.ts';
import { checkName, firstProtocol, type Refs } from '../mirror/refs.ts';

/** A mirror made by cloning, and the branch of HEAD. */
interface Cloned {
  mirror: Mirror;
  /** By their names at the source, including HEAD. */
  refs: Refs;
  headBranch: string | null;
}

/**
 * Creates the mirror of a source in one transfer, which also yields the source's refs. For a first fetch, `git clone`
 * is faster than `git fetch`: it need not walk the history to check that it is complete. Null if the source has no
 * refs. Throws GitError and never leaves a partial mirror behind.
 */
export async function cloneSource(
  git: Git,
  { gitDir, folder }: { gitDir: string; folder: string },
  { location, isChecked }: { location: string; isChecked: boolean },
  options: GitOptions,
): Promise<Cloned | null> {
  await makeArchiveFolder(folder);
  const scratch = await makeScratch(folder);
  try {
    const clone = join(scratch, 'clone.git');
    const flags = ['--mirror', '--no-local', '--reject-shallow', '--template='];
    const settings = [
      ...firstProtocol,
      ...['-c', `transfer.fsckObjects=${isChecked}`],
      // The user's settings may give the remote another name.
      ...['-c', 'clone.defaultRemoteName=origin'],
    ];
    const shown = options.onProgress ? '--progress' : '--quiet';
    // `--no-local`: even for a folder, use git's protocol, which copies only reachable objects and checks each one.
    await git.read([...settings, 'clone', shown, ...flags, '--', location, clone], options);
    // Over HTTP with protocol version 0, git does not honour `--reject-shallow`.
    if ((await nullIfMissing(stat(join(clone, 'shallow')))) !== null) {
      throw new GitError('the source repository is shallow');
    }
    const { refs, headBranch } = await readClone(git, clone);
    const [anyId] = refs.values();
    if (anyId === undefined) return null;
    const objectFormat = anyId.length === 64 ? 'sha256' : 'sha1';
    await adoptRefs(clone, refs);
    await removeMirror(gitDir);
    await rename(clone, gitDir);
    return { mirror: { gitDir, objectFormat }, refs, headBranch };
  } finally {
    await removeScratch(scratch);
  }
}

/**
 * The refs of a fresh clone, including HEAD, and the branch of HEAD. Reads git's files directly, which saves a process
 * per repository in a first run. A ref missed here looks new to the next run, which fetches it.
 */
export async function readClone(
  git: Git,
  gitDir: string,
): Promise<{ refs: Refs; headBranch: string | null }> {
  const loose = await readdir(join(gitDir, 'refs'), { recursive: true, withFileTypes: true });
  if (loose.some((entry) => !entry.isDirectory())) {
    await packRefs(git, { gitDir });
  }
  const refs = await readPackedRefs(gitDir);
  for (const name of refs.keys()) checkName(name);
  const head = (await readFile(join(gitDir, 'HEAD'), 'utf8')).trimEnd();
  const branch = head.startsWith('ref: ') ? head.slice('ref: '.length) : null;
  // A detached HEAD may be at a commit that no ref points to.
  const id = branch === null ? head : refs.get(branch);
  if (id !== undefined) refs.set('HEAD', id);
  const isBranch = id !== undefined && branch?.startsWith('refs/heads/');
  return { refs, headBranch: isBranch ? branch : null };
}

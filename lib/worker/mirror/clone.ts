import { rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { nullIfMissing } from '../../files.ts';
import { type Git, GitError, type GitOptions } from '../../git/git.ts';
import { makeScratch, removeScratch } from '../../processes/scratch.ts';
import { makeArchiveFolder } from '../archive/archive.ts';
import { type Mirror, removeMirror } from './mirror.ts';
import { adoptRefs } from './mirror-refs.ts';
import { readClone } from './read-clone.ts';
import { firstProtocol, type Refs } from './refs.ts';

/** A mirror that was made by cloning, and the branch of HEAD. */
export interface Cloned {
  mirror: Mirror;
  /** By their names at the source, with HEAD. */
  refs: Refs;
  headBranch: string | null;
}

/**
 * Makes the mirror of a source in one transfer, which also tells its refs. For a first fetch, `git clone` is
 * quicker than `git fetch`: it need not walk the history to see that it is complete. Null if the source has no
 * refs. Throws GitError; half a mirror is never left.
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
      // The settings of the user may give it another name.
      ...['-c', 'clone.defaultRemoteName=origin'],
    ];
    const shown = options.onProgress ? '--progress' : '--quiet';
    // `--no-local`: even from a folder, use git's protocol, which copies only reachable objects and checks each.
    await git.read([...settings, 'clone', shown, ...flags, '--', location, clone], options);
    // Over http, the first version of the protocol makes git miss what `--reject-shallow` is for.
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

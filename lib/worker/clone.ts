import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Git, GitOptions } from '../git/git.ts';
import { makeScratch, removeScratch } from '../processes/scratch.ts';
import { makeArchiveFolder } from './archive.ts';
import { adoptRefs, type Mirror, readObjectFormat, removeMirror } from './mirror.ts';
import { firstProtocol, type Refs, readCloneRefs } from './refs.ts';

/** A mirror that was made by cloning, and the branch of HEAD. */
export interface Cloned {
  mirror: Mirror;
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
    const inClone = (...args: string[]) => git.read([`--git-dir=${clone}`, ...args]);
    const isEmpty = (await inClone('for-each-ref', '--count=1')) === '';
    const head = await readHead(git, clone, isEmpty);
    if (head.refs.size === 0) return null;
    await inClone('config', '--remove-section', 'remote.origin');
    const objectFormat = (await readObjectFormat(git, clone)) === 'sha256' ? 'sha256' : 'sha1';
    await adoptRefs(git, { gitDir: clone, objectFormat }, head.refs);
    await removeMirror(gitDir);
    await rename(clone, gitDir);
    return { mirror: { gitDir, objectFormat }, headBranch: head.headBranch };
  } finally {
    await removeScratch(scratch);
  }
}

async function readHead(
  git: Git,
  gitDir: string,
  isEmpty: boolean,
): Promise<{ refs: Refs; headBranch: string | null }> {
  if (isEmpty) {
    // A detached HEAD may have a commit even so.
    const head = await git.read([`--git-dir=${gitDir}`, 'rev-parse', '--revs-only', 'HEAD']);
    const id = head.trim();
    return { refs: new Map(id === '' ? [] : [['HEAD', id]]), headBranch: null };
  }
  const format = '--format=%(HEAD)%(refname)';
  const lines = await git.read([`--git-dir=${gitDir}`, 'for-each-ref', format, 'refs/heads/']);
  const head = lines.split('\n').find((line) => line.startsWith('*'));
  return { refs: await readCloneRefs(git, gitDir), headBranch: head?.slice(1) ?? null };
}

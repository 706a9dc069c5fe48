import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Git } from '../../git/git.ts';
import { readPackedRefs } from '../../git/packed-refs.ts';
import { packRefs } from './mirror-refs.ts';
import { checkName, type Refs } from './refs.ts';

/**
 * The refs of a fresh clone, with HEAD, and the branch of HEAD. Reads git's files, which saves a process for each
 * repository of a first run. A ref that it missed would be new to the next run, which fetches it.
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
  // A detached HEAD may have a commit that no ref has.
  const id = branch === null ? head : refs.get(branch);
  if (id !== undefined) refs.set('HEAD', id);
  const isBranch = id !== undefined && branch?.startsWith('refs/heads/');
  return { refs, headBranch: isBranch ? branch : null };
}

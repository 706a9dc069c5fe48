import type { Git } from '../../git/git.ts';

/** The possible sizes of a Git LFS pointer; Git LFS itself reads no larger ones. */
export const POINTER_BYTES = { min: 100, max: 1_024 };
const VERSION_LINE = 'version https://git-lfs.github.com/spec/v1';
const MAX_SIZE_DIGITS = 15;

/** Files in Git LFS, of which an archive has only the pointers. */
export interface LfsFiles {
  count: number;
  /** Sum of the sizes that the pointers state. */
  bytes: number;
}

/** Counts the Git LFS pointers among the given blobs. Throws GitError. */
export async function countPointers(
  git: Git,
  gitDir: string,
  blobs: readonly string[],
  timeoutMs: number,
): Promise<LfsFiles> {
  const files: LfsFiles = { count: 0, bytes: 0 };
  if (blobs.length === 0) return files;
  const stdin = blobs.map((id) => `${id}\n`).join('');
  let isPointer = false;
  const args = [`--git-dir=${gitDir}`, 'cat-file', '--batch', '--buffer'];
  for await (const line of git.stream(args, '\n', { stdin, timeoutMs })) {
    if (line === VERSION_LINE) {
      isPointer = true;
      continue;
    }
    const [, size = ''] = /^size (\d+)$/.exec(line) ?? [];
    if (!isPointer || size === '' || size.length > MAX_SIZE_DIGITS) continue;
    files.count++;
    files.bytes += Number(size);
    isPointer = false;
  }
  return files;
}

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Git } from '../../git/git.ts';
import type { Mirror } from './mirror.ts';

/** Each fetch adds a pack, and many packs make every git command slower. */
const MAX_PACKS = 20;
const TIMEOUT_MS = 10 * 60_000;

/** Joins small packs of a mirror once there are many. Deletes no object. Throws GitError. */
export async function joinPacks(git: Git, { gitDir }: Mirror): Promise<void> {
  const entries = await readdir(join(gitDir, 'objects', 'pack'));
  if (entries.filter((name) => name.endsWith('.pack')).length <= MAX_PACKS) return;
  const inMirror = (...args: string[]) =>
    git.read([`--git-dir=${gitDir}`, ...args], { timeoutMs: TIMEOUT_MS });
  await inMirror('repack', '-d', '--geometric=2', '--quiet');
  await inMirror('pack-refs', '--all');
  await inMirror('commit-graph', 'write', '--reachable', '--split', '--no-progress');
}

/** Packs everything that refs reach into one pack, and deletes what no ref reaches. Throws GitError. */
export async function repack(git: Git, { gitDir }: Mirror, timeoutMs: number): Promise<void> {
  await git.read([`--git-dir=${gitDir}`, 'repack', '-a', '-d', '--quiet'], { timeoutMs });
}

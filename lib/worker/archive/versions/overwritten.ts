import { keptName } from '../../../archives/base/manifest.ts';
import type { Git } from '../../../git/git.ts';
import type { Mirror } from '../../mirror/mirror.ts';
import { sourceRevisions } from '../../mirror/mirror-refs.ts';
import type { Refs } from '../../mirror/refs.ts';

const WALK_TIMEOUT_MS = 30 * 60_000;

/** What a source has overwritten or deleted since a version. */
export interface Overwritten {
  /** Refs of that version whose objects the source's refs no longer reach. */
  lost: Refs;
  /** Names of refs that the source has deleted, whether or not it still reaches their objects. */
  deleted: string[];
}

/** Compares the refs of a version with those just fetched into the mirror. Throws GitError. */
export async function findOverwritten(
  git: Git,
  mirror: Mirror,
  before: Refs,
  now: Refs,
): Promise<Overwritten> {
  const moved = [...before].filter(([name, id]) => now.get(name) !== id);
  const deleted = moved.map(([name]) => name).filter((name) => !now.has(name) && name !== 'HEAD');
  const ids = [...new Set(moved.map(([, id]) => id))];
  if (ids.length === 0) return { lost: new Map(), deleted };
  const commits = await findCommits(git, mirror, ids);
  const unreached = await findUnreached(git, mirror, commits);
  const current = new Set(now.values());
  // A tag object is not part of any history.
  const isLost = (id: string) => !current.has(id) && (!commits.has(id) || unreached.has(id));
  return { lost: new Map(moved.filter(([, id]) => isLost(id))), deleted };
}

/** Whether a commit is no longer in the history of another one. Throws GitError. */
export async function isRewritten(
  git: Git,
  { gitDir }: Mirror,
  before: string,
  now: string,
): Promise<boolean> {
  const args = [`--git-dir=${gitDir}`, 'rev-list', '--max-count=1', before, `^${now}`];
  return (await git.read(args, { timeoutMs: WALK_TIMEOUT_MS })) !== '';
}

/** The refs that keep what a version lost, by their names in the archive. */
export function keepLost(version: number, lost: Refs): Map<string, string> {
  return new Map([...lost].map(([name, id]) => [keptName(version, name), id]));
}

async function findCommits(git: Git, { gitDir }: Mirror, ids: readonly string[]) {
  const args = [
    `--git-dir=${gitDir}`,
    'cat-file',
    '--batch-check=%(objectname) %(objecttype)',
    '--buffer',
  ];
  const commits = new Set<string>();
  const stdin = ids.map((id) => `${id}\n`).join('');
  for await (const line of git.stream(args, '\n', { stdin })) {
    const [id = '', type] = line.split(' ');
    if (type === 'commit') commits.add(id);
  }
  return commits;
}

/** The commits that no ref of the source reaches. */
async function findUnreached(git: Git, { gitDir }: Mirror, commits: ReadonlySet<string>) {
  const unreached = new Set<string>();
  if (commits.size === 0) return unreached;
  const stdin = [...commits].map((id) => `${id}\n`).join('');
  const args = [`--git-dir=${gitDir}`, 'rev-list', '--stdin', '--not', ...sourceRevisions];
  for await (const id of git.stream(args, '\n', { stdin, timeoutMs: WALK_TIMEOUT_MS })) {
    if (commits.has(id)) unreached.add(id);
  }
  return unreached;
}

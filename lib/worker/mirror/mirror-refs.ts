import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Git, GitOptions } from '../../git/git.ts';
import { listRefs } from '../../git/list-refs.ts';
import { writePackedRefs } from '../../git/packed-refs.ts';
import type { Mirror } from './mirror.ts';
import { firstProtocol, type Refs } from './refs.ts';

/** Holds the refs of the source: their own names are reserved for the kept refs. */
const SOURCE = 'refs/source/';
/** The commit of the source's HEAD, which may be on no branch. */
const SOURCE_HEAD = 'refs/source-head';

/**
 * Everything that the archive needs besides `refs/kept/*`. The brackets turn the second argument into a pattern, which
 * may match nothing; git would take a plain name for a folder.
 */
export const sourceRevisions = [`--glob=${SOURCE}*`, `--glob=${SOURCE_HEAD.slice(0, -1)}[d]`];

/** From this number of refs on, one file per ref slows git down. */
export const MANY_REFS = 1_000;

/** Fetches all refs of the source, and its HEAD, and checks each object. Throws GitError. */
export async function fetchSource(
  git: Git,
  { gitDir }: Mirror,
  { location, withHead, isChecked }: { location: string; withHead: boolean; isChecked: boolean },
  options: GitOptions,
): Promise<void> {
  const settings = [
    `transfer.fsckObjects=${isChecked}`,
    'fetch.unpackLimit=1',
    'fetch.writeCommitGraph=false',
  ];
  const flags = [
    '--prune',
    '--force',
    '--no-tags',
    '--no-write-fetch-head',
    '--no-auto-gc',
    '--no-recurse-submodules',
    ...(options.onProgress ? ['--progress'] : ['--quiet']),
  ];
  const refspecs = [`+refs/*:${SOURCE}*`, ...(withHead ? [`+HEAD:${SOURCE_HEAD}`] : [])];
  await git.read(
    [
      `--git-dir=${gitDir}`,
      ...firstProtocol,
      ...settings.flatMap((setting) => ['-c', setting]),
      'fetch',
      ...flags,
      '--',
      location,
      ...refspecs,
    ],
    options,
  );
}

/** The refs of the source as fetched, under their own names. */
export async function readSourceRefs(git: Git, mirror: Mirror): Promise<Refs> {
  const refs = new Map<string, string>();
  for (const [name, id] of await listRefs(git, mirror.gitDir, ['refs/source', SOURCE_HEAD])) {
    refs.set(name === SOURCE_HEAD ? 'HEAD' : `refs/${name.slice(SOURCE.length)}`, id);
  }
  return refs;
}

/** The refs that hold what the source has overwritten or deleted, by their names in the archive. */
export function readKeptRefs(git: Git, { gitDir }: Mirror): Promise<Refs> {
  return listRefs(git, gitDir, ['refs/kept']);
}

/** Sets the kept refs to exactly these. Their objects must be in the mirror. */
export async function setKeptRefs(git: Git, mirror: Mirror, wanted: Refs): Promise<void> {
  const current = await readKeptRefs(git, mirror);
  const changes = new Map<string, string | null>();
  // Deletions come first: a deleted name may be a folder in a new one.
  for (const name of current.keys()) if (!wanted.has(name)) changes.set(name, null);
  for (const [name, id] of wanted) if (current.get(name) !== id) changes.set(name, id);
  await changeRefs(git, mirror, changes);
}

/** Packs all refs into one file. */
export async function packRefs(git: Git, { gitDir }: Pick<Mirror, 'gitDir'>): Promise<void> {
  await git.read([`--git-dir=${gitDir}`, 'pack-refs', '--all']);
}

/** Renames the refs of a fresh clone, which are all in one file, to their names in a mirror. */
export async function adoptRefs(gitDir: string, refs: Refs): Promise<void> {
  await writeFile(join(gitDir, 'HEAD'), 'ref: refs/heads/none\n');
  const targetOf = (name: string) =>
    name === 'HEAD' ? SOURCE_HEAD : `${SOURCE}${name.slice('refs/'.length)}`;
  await writePackedRefs(gitDir, new Map([...refs].map(([name, id]) => [targetOf(name), id])));
  for (const name of await readdir(join(gitDir, 'refs'))) {
    await rm(join(gitDir, 'refs', name), { recursive: true, force: true });
  }
}

/** Removes the source's HEAD, which no longer has a commit. */
export async function dropSourceHead(git: Git, mirror: Mirror): Promise<void> {
  await changeRefs(git, mirror, new Map([[SOURCE_HEAD, null]]));
}

/** Deletes refs that no longer exist at the source, if there are so many that a fetch would take minutes to do so. */
export async function dropManySourceRefs(
  git: Git,
  mirror: Mirror,
  deleted: readonly string[],
): Promise<void> {
  if (deleted.length <= MANY_REFS) return;
  const names = deleted.map((name) => `${SOURCE}${name.slice('refs/'.length)}`);
  await changeRefs(git, mirror, new Map(names.map((name) => [name, null])));
}

/** Changes refs in the given order; null deletes one. */
async function changeRefs(
  git: Git,
  mirror: Mirror,
  changes: ReadonlyMap<string, string | null>,
): Promise<void> {
  if (changes.size > MANY_REFS) return rewriteRefs(git, mirror, changes);
  if (changes.size === 0) return;
  const args = [`--git-dir=${mirror.gitDir}`, 'update-ref', '--no-deref', '-z', '--stdin'];
  const commands = [...changes].map(([name, id]) =>
    id === null ? `delete ${name}\0\0` : `update ${name}\0${id}\0\0`,
  );
  await git.read(args, { stdin: commands.join('') });
}

/** Rewrites the file of packed refs: git would create and sync a file for each ref that changes. */
async function rewriteRefs(
  git: Git,
  mirror: Mirror,
  changes: ReadonlyMap<string, string | null>,
): Promise<void> {
  await packRefs(git, mirror);
  const refs = await listRefs(git, mirror.gitDir);
  for (const [name, id] of changes) {
    if (id === null) refs.delete(name);
    else refs.set(name, id);
  }
  await writePackedRefs(mirror.gitDir, refs);
}

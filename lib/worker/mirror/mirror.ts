import { mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BundleHeader, readBundleHeader } from '../../archives/bundle-header.ts';
import { nullIfMissing, skipBytes } from '../../files.ts';
import { type Git, GitError, type GitOptions } from '../../git/git.ts';
import { writePackedRefs } from '../../git/packed-refs.ts';
import { firstProtocol, type Refs, sameRefs } from './refs.ts';

/** Where the refs of the source are, since their own names belong to the refs that are kept. */
const SOURCE = 'refs/source/';
/** The commit of the source's HEAD, which may be on no branch. */
const SOURCE_HEAD = 'refs/source-head';

/**
 * Everything that the archive needs beside `refs/kept/*`. The brackets make git take the second for a pattern, which
 * may match nothing, and not for a folder.
 */
export const sourceRevisions = [`--glob=${SOURCE}*`, `--glob=${SOURCE_HEAD.slice(0, -1)}[d]`];

/**
 * A bare repository with the objects of one source and of its archive, so that a run fetches only what is new.
 * A cache: it is built again from the archive when it is missing or damaged.
 */
export interface Mirror {
  gitDir: string;
  objectFormat: 'sha1' | 'sha256';
}

const IMPORT_TIMEOUT_MS = 12 * 60 * 60_000;
const BATCH = 10_000;

/**
 * Opens the mirror in `gitDir`, empty if there is none. One that is damaged or has another object format is set
 * aside, as the path that is returned.
 */
export async function openMirror(
  git: Git,
  gitDir: string,
  id: string,
): Promise<{ mirror: Mirror; setAside: string | null }> {
  const objectFormat = id.length === 64 ? 'sha256' : 'sha1';
  let setAside: string | null = null;
  if ((await readObjectFormat(git, gitDir)) !== objectFormat) {
    setAside = await setMirrorAside(gitDir);
    await mkdir(gitDir, { recursive: true, mode: 0o700 });
    const format = `--object-format=${objectFormat}`;
    await git.read(['init', '--quiet', '--bare', '--template=', format, '--', gitDir]);
  }
  await removeLocks(gitDir);
  return { mirror: { gitDir, objectFormat }, setAside };
}

/** The folder of an archive's mirror. */
export function mirrorPath(folder: string, key: string): string {
  return join(folder, key.replace(/\.bundle$/, '.git'));
}

/** Whether an archive has a mirror. */
export async function hasMirror(folder: string, key: string): Promise<boolean> {
  return (await nullIfMissing(stat(join(mirrorPath(folder, key), 'HEAD')))) !== null;
}

/**
 * Gives a mirror that cannot be used another name, which it returns; null if there is none. Where the archive is gone or
 * damaged too, it may have what nothing else has.
 */
export async function setMirrorAside(gitDir: string): Promise<string | null> {
  if ((await nullIfMissing(stat(gitDir))) === null) return null;
  for (let number = 1; ; number++) {
    const path = `${gitDir}.damaged-${number}`;
    if ((await nullIfMissing(stat(path))) !== null) continue;
    await rename(gitDir, path);
    return path;
  }
}

/** Deletes a mirror. */
export function removeMirror(gitDir: string): Promise<void> {
  return rm(gitDir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}

/** The object format of a repository; null if there is none in `gitDir`. */
async function readObjectFormat(git: Git, gitDir: string): Promise<string | null> {
  if ((await nullIfMissing(stat(join(gitDir, 'HEAD')))) === null) return null;
  try {
    const args = [`--git-dir=${gitDir}`, 'rev-parse', '--show-object-format'];
    return (await git.read(args)).trim();
  } catch (error) {
    if (error instanceof GitError && error.fault === 'failed') return null;
    throw error;
  }
}

/** Removes the locks of a killed git: only one run at a time uses a mirror. */
async function removeLocks(gitDir: string): Promise<void> {
  for (const folder of ['.', 'refs', 'objects/pack', 'objects/info']) {
    const entries = (await nullIfMissing(readdir(join(gitDir, folder)))) ?? [];
    const left = entries.filter((name) => name.endsWith('.lock') || name.startsWith('tmp_'));
    for (const name of left) await rm(join(gitDir, folder, name), { force: true });
  }
  const loose = join(gitDir, 'refs');
  const entries = (await nullIfMissing(readdir(loose, { recursive: true }))) ?? [];
  for (const name of entries) {
    if (name.endsWith('.lock')) await rm(join(loose, name), { force: true });
  }
}

/** Whether the mirror has all these objects. */
export async function hasObjects(
  git: Git,
  { gitDir }: Mirror,
  ids: Iterable<string>,
): Promise<boolean> {
  const stdin = [...new Set(ids)].map((id) => `${id}\n`).join('');
  if (stdin === '') return true;
  const args = [`--git-dir=${gitDir}`, 'cat-file', '--batch-check=%(objecttype)', '--buffer'];
  for await (const line of git.stream(args, '\n', { stdin })) {
    if (line.endsWith('missing')) return false;
  }
  return true;
}

/**
 * Adds the objects of a bundle, each of which git checks. Throws GitError for a damaged bundle, or one whose
 * prerequisites are not in the mirror, and ArchiveFault for a file that is none.
 */
export async function addBundle(git: Git, { gitDir }: Mirror, path: string): Promise<void> {
  await readPack(path, (fd) =>
    git.read([`--git-dir=${gitDir}`, 'index-pack', '--stdin', '--fix-thin'], {
      stdin: { fd },
      timeoutMs: IMPORT_TIMEOUT_MS,
    }),
  );
}

/** Opens the pack of a bundle: a descriptor behind the header. Throws ArchiveFault. */
export async function readPack(
  path: string,
  read: (fd: number) => Promise<unknown>,
): Promise<void> {
  const handle = await open(path);
  try {
    const { length } = await readBundleHeader(handle);
    await skipBytes(handle, length);
    await read(handle.fd);
  } finally {
    await handle.close();
  }
}

/** Reads the header of a bundle file. Throws ArchiveFault. */
export async function readHeader(path: string): Promise<BundleHeader> {
  const handle = await open(path);
  try {
    return await readBundleHeader(handle);
  } finally {
    await handle.close();
  }
}

/** Fetches all refs of the source, and its HEAD, checking each object. Throws GitError. */
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

/** The refs of the source as they were fetched, under their own names. */
export async function readSourceRefs(git: Git, mirror: Mirror): Promise<Refs> {
  const refs = new Map<string, string>();
  for (const [name, id] of await listRefs(git, mirror, ['refs/source', SOURCE_HEAD])) {
    refs.set(name === SOURCE_HEAD ? 'HEAD' : `refs/${name.slice(SOURCE.length)}`, id);
  }
  return refs;
}

/** The refs that hold what sources have overwritten or deleted, by their names in the archive. */
export function readKeptRefs(git: Git, mirror: Mirror): Promise<Refs> {
  return listRefs(git, mirror, ['refs/kept']);
}

async function listRefs(git: Git, { gitDir }: Mirror, patterns: readonly string[]): Promise<Refs> {
  const refs = new Map<string, string>();
  const args = [`--git-dir=${gitDir}`, 'for-each-ref', '--format=%(objectname) %(refname)'];
  for await (const line of git.stream([...args, ...patterns], '\n')) {
    if (line !== '') refs.set(line.slice(line.indexOf(' ') + 1), line.slice(0, line.indexOf(' ')));
  }
  return refs;
}

/** Makes the kept refs exactly these. Their objects must be in the mirror. */
export async function setKeptRefs(git: Git, mirror: Mirror, wanted: Refs): Promise<void> {
  const current = await readKeptRefs(git, mirror);
  const commands = [
    // Deleted first: a name may be a folder of another.
    ...[...current.keys()].filter((name) => !wanted.has(name)).map((name) => `delete ${name}\0\0`),
    ...[...wanted]
      .filter(([name, id]) => current.get(name) !== id)
      .map(([name, id]) => `update ${name}\0${id}\0\0`),
  ];
  await updateRefs(git, mirror, commands);
}

/** Stores all refs in one file. */
export async function packRefs(git: Git, { gitDir }: Pick<Mirror, 'gitDir'>): Promise<void> {
  await git.read([`--git-dir=${gitDir}`, 'pack-refs', '--all']);
}

/** Renames the refs of a fresh clone, which has them all in one file, to what they are in a mirror. */
export async function adoptRefs(git: Git, mirror: Mirror, refs: Refs): Promise<void> {
  const { gitDir } = mirror;
  await writeFile(join(gitDir, 'HEAD'), 'ref: refs/heads/none\n');
  const targetOf = (name: string) =>
    name === 'HEAD' ? SOURCE_HEAD : `${SOURCE}${name.slice('refs/'.length)}`;
  await writePackedRefs(gitDir, new Map([...refs].map(([name, id]) => [targetOf(name), id])));
  for (const name of await readdir(join(gitDir, 'refs'))) {
    await rm(join(gitDir, 'refs', name), { recursive: true, force: true });
  }
  const found = await readSourceRefs(git, mirror);
  if (!sameRefs(found, refs)) throw new GitError('git does not find the refs of the clone again');
}

/** Forgets the HEAD of the source, which no longer has a commit. */
export async function dropSourceHead(git: Git, mirror: Mirror): Promise<void> {
  await updateRefs(git, mirror, [`delete ${SOURCE_HEAD}\0\0`]);
}

async function updateRefs(git: Git, { gitDir }: Mirror, commands: string[]): Promise<void> {
  for (let start = 0; start < commands.length; start += BATCH) {
    const stdin = commands.slice(start, start + BATCH).join('');
    await git.read([`--git-dir=${gitDir}`, 'update-ref', '--no-deref', '-z', '--stdin'], { stdin });
  }
}

import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { nextTo } from '../../archives/base/archive-name.ts';
import { type BundleHeader, readBundleHeader } from '../../archives/base/bundle-header.ts';
import { nullIfMissing, openFile, skipBytes } from '../../files.ts';
import { type Git, isGitFailure } from '../../git/git.ts';
import { initRepository } from '../../git/init-repository.ts';

/**
 * A bare repository with the objects of one source and of its archive, so that a run fetches only what is new. It is a
 * cache, rebuilt from the archive when it is missing or damaged.
 */
export interface Mirror {
  gitDir: string;
  objectFormat: 'sha1' | 'sha256';
}

const IMPORT_TIMEOUT_MS = 12 * 60 * 60_000;
/** Each fetch adds a pack, and many packs slow down every git command. */
const MAX_PACKS = 20;
const JOIN_TIMEOUT_MS = 10 * 60_000;

/**
 * Opens the mirror in `gitDir`, and creates an empty one if there is none. One that is damaged or has another object
 * format is set aside, and its new path is returned.
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
    await initRepository(git, gitDir, { objectFormat, isBare: true });
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
 * Renames an unusable mirror and returns its new path; null if there is none. If the archive is missing or damaged too,
 * it may hold objects that exist nowhere else.
 */
export async function setMirrorAside(gitDir: string): Promise<string | null> {
  if ((await nullIfMissing(stat(gitDir))) === null) return null;
  for (let number = 1; ; number++) {
    const path = join(dirname(gitDir), nextTo(basename(gitDir), `.damaged-${number}`));
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
    if (isGitFailure(error)) return null;
    throw error;
  }
}

/** Removes locks left by a killed git: only one run at a time uses a mirror. */
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
 * Adds the objects of a bundle, each checked by git. Throws GitError if the bundle is damaged or its prerequisites are
 * not in the mirror, and ArchiveFault if the file is not a bundle.
 */
export async function addBundle(git: Git, { gitDir }: Mirror, path: string): Promise<void> {
  await readPack(path, (fd) =>
    git.read([`--git-dir=${gitDir}`, 'index-pack', '--stdin', '--fix-thin'], {
      stdin: { fd },
      timeoutMs: IMPORT_TIMEOUT_MS,
    }),
  );
}

/** Opens the pack in a bundle: a descriptor positioned after the header. Throws ArchiveFault. */
export async function readPack(
  path: string,
  read: (fd: number) => Promise<unknown>,
): Promise<void> {
  const handle = await openFile(path);
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
  const handle = await openFile(path);
  try {
    return await readBundleHeader(handle);
  } finally {
    await handle.close();
  }
}

/** Merges small packs of a mirror once there are many. Deletes no objects. Throws GitError. */
export async function joinPacks(git: Git, { gitDir }: Mirror): Promise<void> {
  const entries = await readdir(join(gitDir, 'objects', 'pack'));
  if (entries.filter((name) => name.endsWith('.pack')).length <= MAX_PACKS) return;
  const inMirror = (...args: string[]) =>
    git.read([`--git-dir=${gitDir}`, ...args], { timeoutMs: JOIN_TIMEOUT_MS });
  await inMirror('repack', '-d', '--geometric=2', '--quiet');
  await inMirror('pack-refs', '--all');
  await inMirror('commit-graph', 'write', '--reachable', '--split', '--no-progress');
}

/** Packs everything that refs reach into one pack, and deletes everything else. Throws GitError. */
export async function repack(git: Git, { gitDir }: Mirror, timeoutMs: number): Promise<void> {
  await git.read([`--git-dir=${gitDir}`, 'repack', '-a', '-d', '--quiet'], { timeoutMs });
}

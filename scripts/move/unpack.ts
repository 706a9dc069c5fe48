import { createHash } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { parseEnv } from 'node:util';
import type { Environment } from '../../lib/config/read.ts';
import { moveNew, replaceFile, syncFile } from '../../lib/durable-files.ts';
import { AppError } from '../../lib/errors.ts';
import { nullIfMissing } from '../../lib/files.ts';
import { counted, formatBytes } from '../../lib/text/units.ts';
import { version } from '../../lib/version.ts';
import {
  copyNew,
  isLock,
  loginFiles,
  type Manifest,
  missingFolders,
  type PackedFile,
  type Places,
  parts,
  placesOf,
  readPackManifest,
  removeEmptyFolders,
  whileUnused,
  withFiles,
} from './packed-files.ts';

export interface UnpackOptions {
  /** The process's own environment. The packed `.env` is added to it. */
  environment: Environment;
  /** The folder for `.env`. */
  start: string;
  /** The packed folder. */
  from: string;
  say(text: string): void;
}

/** Where files wait in their place until all of them have arrived. */
const STAGING = '.unpacking';

/** In DATA_DIR while files get their names: which folder is unpacked, so that an interrupted command can go on. */
const PLACING = '.unpacking.json';

/**
 * Unpacks what `packInstallation` packed. Every file is checked against its SHA-256 before any of them gets its name.
 * Throws CONFLICT if something would be overwritten, is damaged or cannot be moved, with nothing changed. One that was
 * killed while files got their names is finished by the next.
 */
export async function unpackInstallation(options: UnpackOptions): Promise<void> {
  const { start, from, say } = options;
  const manifest = await readPackManifest(from);
  const places = placesOf(await environmentOf(options), start);
  const made = await Promise.all(parts.map((part) => missingFolders(places[part])));
  try {
    await whileUnused(places.data, () => withFiles(() => unpack(from, manifest, places)));
  } catch (error) {
    if (made.flat().includes(places.data)) await removeLocks(places.data);
    for (const folders of made) await removeEmptyFolders(folders);
    throw error;
  }
  const bytes = manifest.files.reduce((sum, { size }) => sum + size, 0);
  say(`Unpacked ${counted(manifest.files.length, 'file')}, ${formatBytes(bytes)}. Each has the SHA-256 that was packed.
  DATA_DIR   ${places.data}
  archives   ${places.archives}
  logins     ${places.config}`);
  for (const { part, path } of manifest.files) {
    if (part === 'config' && !loginFiles.includes(path)) {
      say(`  identity   ${join(places.config, path)}`);
    }
  }
  if (manifest.version !== version) {
    say(`It was packed by version ${manifest.version}, and this is ${version}.`);
  }
  say(`Next:
  1. npm start
  2. npm run worker -- auth status     which logins are here
  3. npm run doctor                    what is missing
  4. Set up your schedule as on the old machine, and do not start that again.
  5. Delete ${from}, which contains secrets.`);
}

/** The environment as it will be: the process's own, then the packed `.env`. */
async function environmentOf({ environment, from }: UnpackOptions): Promise<Environment> {
  const text = await nullIfMissing(readFile(join(from, 'start', '.env'), 'utf8'));
  const merged: Environment = { ...environment };
  for (const [name, value] of Object.entries(parseEnv(text ?? ''))) merged[name] ||= value;
  return merged;
}

/** Removes the locks of a DATA_DIR that this command has made, so that nobody else uses it. */
async function removeLocks(dataDir: string): Promise<void> {
  for (const name of (await nullIfMissing(readdir(dataDir))) ?? []) {
    if (isLock(name)) await rm(join(dataDir, name), { force: true });
  }
}

async function unpack(from: string, manifest: Manifest, places: Places): Promise<void> {
  const id = createHash('sha256').update(JSON.stringify(manifest)).digest('hex');
  const placing = join(places.data, PLACING);
  const clear = () =>
    Promise.all(
      parts.map((part) => rm(join(places[part], STAGING), { recursive: true, force: true })),
    );
  const found = await nullIfMissing(readFile(placing, 'utf8'));
  if (found !== null && found !== id) {
    throw new AppError(
      'CONFLICT',
      `unpacking another folder was interrupted: unpack that one again first, or remove ${placing} and what it left`,
    );
  }
  if (found === null) {
    await rejectOccupied(manifest.files, places);
    await clear();
    try {
      for (const file of manifest.files) await stage(from, file, places);
      for (const { part, path } of manifest.folders) {
        await mkdir(join(places[part], STAGING, path), { recursive: true, mode: 0o700 });
      }
      await replaceFile(placing, id);
    } catch (error) {
      await clear();
      throw error;
    }
  }
  await placeAll([...manifest.files, ...manifest.folders], places, async () => {
    await rm(placing, { force: true });
    await clear();
  });
  for (const part of parts) await syncFolder(places[part]);
  await rm(placing);
  await clear();
}

/** Gives all files their names. If one cannot get its name, takes them back from the others, and then calls `undone`. */
async function placeAll(
  entries: readonly Pick<PackedFile, 'part' | 'path'>[],
  places: Places,
  undone: () => Promise<void>,
): Promise<void> {
  const placed: Moved[] = [];
  try {
    for (const entry of entries) {
      const moved = await place(entry, places);
      if (moved !== null) placed.push(moved);
    }
  } catch (error) {
    for (const { staged, target } of placed.toReversed()) await rename(target, staged);
    await undone();
    throw error;
  }
}

interface Moved {
  staged: string;
  target: string;
}

/** Throws CONFLICT if anything is where a part goes. */
async function rejectOccupied(files: readonly PackedFile[], places: Places): Promise<void> {
  const occupied = (path: string) =>
    new AppError(
      'CONFLICT',
      `${path} exists, and nothing is overwritten: move it away, or unpack elsewhere`,
    );
  const archives = relative(places.data, places.archives).split(sep)[0];
  for (const part of ['data', 'archives'] as const) {
    for (const name of (await nullIfMissing(readdir(places[part]))) ?? []) {
      if (name === STAGING || (part === 'data' && isLock(name))) continue;
      if (part === 'data' && name === archives) continue;
      throw occupied(join(places[part], name));
    }
  }
  for (const { part, path } of files) {
    if (part !== 'config' && part !== 'start') continue;
    const target = join(places[part], path);
    if ((await nullIfMissing(lstat(target))) !== null) throw occupied(target);
  }
}

async function stage(from: string, file: PackedFile, places: Places): Promise<void> {
  const source = join(from, file.part, file.path);
  const found = await nullIfMissing(lstat(source));
  const copied = found?.isFile()
    ? await copyNew(source, join(places[file.part], STAGING, file.path), file)
    : null;
  if (copied?.size === file.size && copied.sha256 === file.sha256) return;
  throw new AppError(
    'CONFLICT',
    `${source} is ${copied === null ? 'missing' : 'damaged'}, and nothing was unpacked: copy the folder again from the old machine`,
  );
}

/** Gives a file its name. Files of one folder move together: null for one that has moved with another. */
async function place(
  { part, path }: Pick<PackedFile, 'part' | 'path'>,
  places: Places,
): Promise<Moved | null> {
  const [top = ''] = path.split('/');
  const staged = join(places[part], STAGING, top);
  const target = join(places[part], top);
  const found = await nullIfMissing(lstat(staged));
  if (found === null) return null;
  const appeared = () =>
    new AppError('CONFLICT', `${target} appeared meanwhile and was not overwritten`);
  if (found.isDirectory()) {
    if ((await nullIfMissing(lstat(target))) !== null) throw appeared();
    await rename(staged, target);
  } else if (!(await moveNew(staged, target))) throw appeared();
  return { staged, target };
}

async function syncFolder(path: string): Promise<void> {
  // Windows cannot sync folders.
  if (process.platform === 'win32') return;
  if ((await nullIfMissing(lstat(path))) !== null) await syncFile(path);
}

import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { isSetAsideOf, setAsideName } from '../../archives/base/archive-name.ts';
import { incrementName, manifestFolder, parseManifest } from '../../archives/base/manifest.ts';
import { noteName } from '../../archives/base/note.ts';
import { nullIfMissing, readIfFile } from '../../files.ts';
import { parseArchiveRecord } from './archive.ts';

/** Renames a damaged archive and its note, so that nothing overwrites them. Returns the new name. */
export async function setAside(folder: string, key: string, now: number): Promise<string> {
  const name = setAsideName(key, now);
  for (const [from, to] of [
    [key, name],
    [noteName(key), noteName(name)],
  ] as const) {
    await nullIfMissing(rename(join(folder, from), join(folder, to)));
  }
  return name;
}

/**
 * The number of the first increment of an archive that has no note. It is above all numbers that earlier archives of
 * this name have used, because their files may come back.
 */
export async function firstIncrement(folder: string, key: string): Promise<number> {
  const manifests = join(folder, manifestFolder(key));
  const versions = (await nullIfMissing(readdir(manifests))) ?? [];
  // No archive had this name before.
  if (versions.length === 0) return 1;
  let first = 1;
  const follow = (name: string) => {
    const number = Number(/\.(\d{1,9})\.bundle$/.exec(name)?.[1]);
    if (name === incrementName(key, number)) first = Math.max(first, number + 1);
  };
  for (const name of await readdir(folder)) {
    follow(name);
    if (!name.endsWith('.json') || !isSetAsideOf(name.slice(0, -'.json'.length), key)) continue;
    const record = parseArchiveRecord((await readIfFile(join(folder, name))) ?? '');
    first = Math.max(first, record?.next_increment ?? 1);
  }
  for (const name of versions) {
    const manifest = parseManifest((await readIfFile(join(manifests, name))) ?? '');
    for (const file of manifest?.files ?? []) follow(file.name);
  }
  return first;
}

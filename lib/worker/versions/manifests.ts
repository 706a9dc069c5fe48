import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  hashText,
  manifestFolder,
  manifestName,
  parseManifest,
  type VersionManifest,
} from '../../archives/manifest.ts';
import type { VersionEntry } from '../../archives/note.ts';
import { nullIfMissing } from '../../files.ts';

/** The numbers of all versions that have a manifest, in order. */
export async function listManifests(folder: string, key: string): Promise<number[]> {
  const names = (await nullIfMissing(readdir(join(folder, manifestFolder(key))))) ?? [];
  const numbers = names.flatMap((name) => /^(\d{1,9})\.json$/.exec(name)?.[1] ?? []);
  return numbers.map(Number).sort((one, other) => one - other);
}

/** Reads the manifest of a version; null if it is missing or not the one that the note records. */
export async function readManifest(
  folder: string,
  key: string,
  { version, manifest_sha256 }: VersionEntry,
): Promise<VersionManifest | null> {
  const path = join(folder, manifestFolder(key), manifestName(version));
  const text = await nullIfMissing(readFile(path, 'utf8'));
  return text === null || hashText(text) !== manifest_sha256 ? null : parseManifest(text);
}

import { readFile } from 'node:fs/promises';
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

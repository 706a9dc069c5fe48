import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  hashText,
  manifestFolder,
  manifestName,
  parseManifest,
  type VersionManifest,
} from '../../archives/base/manifest.ts';
import { MAX_VERSIONS, type VersionEntry } from '../../archives/base/note.ts';
import { nullIfMissing, readIfFile } from '../../files.ts';
import type { ArchiveState } from './archive.ts';

/** The numbers of all versions that have a manifest, in ascending order. */
export async function listManifests(folder: string, key: string): Promise<number[]> {
  const names = (await nullIfMissing(readdir(join(folder, manifestFolder(key))))) ?? [];
  const numbers = names.flatMap((name) => /^(\d{1,9})\.json$/.exec(name)?.[1] ?? []);
  return numbers.map(Number).sort((one, other) => one - other);
}

/** Reads the manifest of a version; null if it is missing or differs from the one that the note records. */
export async function readManifest(
  folder: string,
  key: string,
  { version, manifest_sha256 }: VersionEntry,
): Promise<VersionManifest | null> {
  const path = join(folder, manifestFolder(key), manifestName(version));
  const text = await readIfFile(path);
  return text === null || hashText(text) !== manifest_sha256 ? null : parseManifest(text);
}

/** The recorded versions of an archive whose note or full bundle is missing. */
export interface RecordedVersions {
  versions: readonly VersionEntry[];
  /** Names of the files that the newest version needed when it was written. */
  files: readonly string[];
}

/** Holds back the pruning of everything older: only the note recorded whether a version had a warning. */
const NOTE_WAS_LOST = 'the note of the archive was lost, along with its warnings';

/** Reconstructs the versions from the manifests of an archive whose note is missing or not valid. */
export async function readRecordedVersions(
  folder: string,
  key: string,
  { record }: Pick<ArchiveState, 'record'>,
): Promise<RecordedVersions> {
  if (record !== null) {
    const files = [key, ...record.increments.map(({ name }) => name)];
    return { versions: record.versions, files };
  }
  const versions: VersionEntry[] = [];
  let newest: VersionManifest | null = null;
  for (const number of (await listManifests(folder, key)).slice(-MAX_VERSIONS + 1)) {
    const path = join(folder, manifestFolder(key), manifestName(number));
    const text = await readIfFile(path);
    const manifest = text === null ? null : parseManifest(text);
    if (text === null || manifest === null || manifest.version !== number) continue;
    newest = manifest;
    versions.push(describe(manifest, text));
  }
  const last = versions.pop();
  if (last !== undefined) versions.push({ ...last, warning: NOTE_WAS_LOST });
  return { versions, files: newest?.files.map(({ name }) => name) ?? [] };
}

function describe(
  { version, at, run_id, refs, files }: VersionManifest,
  text: string,
): VersionEntry {
  return {
    ...{ version, at, run_id, files: files.length },
    manifest_sha256: hashText(text),
    ref_count: Object.keys(refs).length,
    warning: null,
  };
}

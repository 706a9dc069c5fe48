import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  hashText,
  manifestFolder,
  manifestName,
  parseManifest,
  type VersionManifest,
} from '../../archives/manifest.ts';
import { MAX_VERSIONS, type VersionEntry } from '../../archives/note.ts';
import type { ArchiveState } from '../archive/archive.ts';
import { listManifests } from './manifests.ts';

/** What was recorded about an archive whose note or full bundle is missing. */
export interface RecordedVersions {
  versions: readonly VersionEntry[];
  /** Names of the files that the newest version needed when it was made. */
  files: readonly string[];
}

/** Holds back the pruning of all that is older: whether a version warned of something was in the note alone. */
const NOTE_WAS_LOST = 'the note of the archive was lost, with what it warned of';

/** The versions by the manifests of an archive, for one whose note is missing or not valid. */
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
    const text = await readFile(path, 'utf8');
    const manifest = parseManifest(text);
    if (manifest === null || manifest.version !== number) continue;
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

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  hashText,
  manifestFolder,
  manifestName,
  parseManifest,
  type VersionManifest,
} from '../../archives/base/manifest.ts';
import { MAX_VERSIONS, type VersionEntry } from '../../archives/base/note.ts';
import { setTime } from '../../durable-files.ts';
import { nullIfMissing, readIfFile } from '../../files.ts';
import type { RestorableVersion, VersionHash } from '../../records/recording/versions.ts';
import type { ArchiveOnDisk } from './archive.ts';

/** The numbers of all versions that have a manifest, in ascending order. */
export async function listManifests(folder: string, key: string): Promise<number[]> {
  const names = (await nullIfMissing(readdir(join(folder, manifestFolder(key))))) ?? [];
  const numbers = names.flatMap((name) => /^(\d{1,9})\.json$/.exec(name)?.[1] ?? []);
  return numbers.map(Number).sort((one, other) => one - other);
}

/** Reads the manifest of a version; null if it is missing or differs from the one that the note records. */
export async function findManifest(
  folder: string,
  key: string,
  { version, manifest_sha256 }: VersionEntry,
): Promise<VersionManifest | null> {
  const path = join(folder, manifestFolder(key), manifestName(version));
  const text = await readIfFile(path);
  return text === null || hashText(text) !== manifest_sha256 ? null : parseManifest(text);
}

/** How many manifests of an archive a look at it examines. */
const MAX_EXAMINED = 100;

/**
 * Says which manifest is missing or was changed; null if none. One that has the time of its version is not read:
 * `dateManifest` gave it that time. Examines only the newest versions, and whether the others exist.
 */
export async function findBadManifest(
  folder: string,
  key: string,
  versions: readonly VersionEntry[],
): Promise<string | null> {
  const there = new Set(await listManifests(folder, key));
  const nameOf = ({ version }: VersionEntry) => join(manifestFolder(key), manifestName(version));
  const missing = versions.findLast(({ version }) => !there.has(version));
  if (missing !== undefined) return `${nameOf(missing)} is missing`;
  for (const entry of versions.slice(-MAX_EXAMINED).reverse()) {
    const name = nameOf(entry);
    const found = await nullIfMissing(stat(join(folder, name)));
    if (found?.isFile() === false) return `${name} is not a file`;
    if (found !== null && Math.round(found.mtimeMs) === Date.parse(entry.at)) continue;
    if ((await findManifest(folder, key, entry)) === null) return `${name} was changed`;
  }
  return null;
}

/** Gives a manifest the time of its version, so that a later change shows without reading it. */
export async function dateManifest(
  folder: string,
  key: string,
  { version, at }: Pick<VersionEntry, 'version' | 'at'>,
): Promise<void> {
  await setTime(join(folder, manifestFolder(key), manifestName(version)), Date.parse(at));
}

/**
 * Whether a note is not the one that was recorded last: it lacks the newest version, as an older copy of it does. If the
 * note is newer than the records, they say nothing about it.
 */
export function isOutdated(versions: readonly VersionEntry[], newest: VersionHash | null): boolean {
  if (newest === null) return false;
  if ((versions.at(-1)?.version ?? 0) < newest.version) return true;
  const same = versions.find(({ version }) => version === newest.version);
  return same !== undefined && same.manifest_sha256 !== newest.manifestSha256;
}

/** The recorded versions of an archive whose note or full bundle is missing. */
export interface RecordedVersions {
  versions: readonly VersionEntry[];
  /** Names of the files that the newest version needed when it was written. */
  files: readonly string[];
}

/** Holds back the pruning of everything older if the records do not say which version had a warning. */
const NOTE_WAS_LOST = 'the note of the archive was lost, along with its warnings';

/**
 * Reconstructs the versions from the manifests of an archive whose note is missing or not valid. `known` is what is
 * recorded about them, null if that is unknown: a manifest that differs from it was altered, and is left out.
 */
export async function readRecordedVersions(
  folder: string,
  key: string,
  { record }: Pick<ArchiveOnDisk, 'record'>,
  known: readonly RestorableVersion[] | null,
): Promise<RecordedVersions> {
  if (record !== null) {
    const files = [key, ...record.increments.map(({ name }) => name)];
    return { versions: record.versions, files };
  }
  const recorded = new Map(known?.map((one) => [one.version, one]));
  const versions: VersionEntry[] = [];
  let newest: VersionManifest | null = null;
  let areWarningsKnown = true;
  for (const number of (await listManifests(folder, key)).slice(-MAX_VERSIONS + 1)) {
    const path = join(folder, manifestFolder(key), manifestName(number));
    const text = await readIfFile(path);
    const manifest = text === null ? null : parseManifest(text);
    if (text === null || manifest === null || manifest.version !== number) continue;
    const entry = describe(manifest, text);
    const one = recorded.get(number);
    if (one !== undefined && one.manifestSha256 !== entry.manifest_sha256) continue;
    areWarningsKnown &&= one !== undefined;
    newest = manifest;
    versions.push({ ...entry, warning: one?.warning ?? null });
  }
  const last = versions.pop();
  if (last !== undefined) {
    const warning = areWarningsKnown ? last.warning : (last.warning ?? NOTE_WAS_LOST);
    versions.push({ ...last, warning });
  }
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

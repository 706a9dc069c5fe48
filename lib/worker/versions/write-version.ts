import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  digestRefs,
  hashText,
  manifestFolder,
  type VersionManifest,
} from '../../archives/manifest.ts';
import type { Increment, VersionEntry } from '../../archives/note.ts';
import { nullIfMissing } from '../../files.ts';
import type { Git } from '../../git/git.ts';
import {
  type ArchiveRecord,
  type ArchiveState,
  archiveBytes,
  type Place,
  publishBundle,
  publishIncrement,
  publishManifest,
  sealBundle,
  settleNote,
} from '../archive/archive.ts';
import { type BundleContents, writeFullBundle, writeIncrement } from '../archive/bundle-file.ts';
import { type FigureLimits, uncountedFigures } from '../archive/figures.ts';
import { repack } from '../mirror/housekeeping.ts';
import type { Mirror } from '../mirror/mirror.ts';
import type { Source } from '../source.ts';
import type { ArchivedRefs } from './archived-refs.ts';
import type { VersionFacts } from './version-facts.ts';

/** An archive is compacted when its increments reach this number, or half the size of its full bundle. */
const MAX_INCREMENTS = 50;
/** git packs about 25 MB per second, but folders nested thousands deep can take hours with only a few bytes. */
const PACK_TIMEOUT_MS = 10 * 60_000;
const PACK_BYTES_PER_MS = 500;
const MAX_PACK_TIMEOUT_MS = 12 * 60 * 60_000;

export interface VersionOptions {
  git: Git;
  source: Source;
  /** Null if the run has no number yet. */
  runId: number | null;
  now(): number;
  incrementsFromBytes: number;
  recordedSha256: string | null;
  packTimeoutMs?: number | undefined;
  figureLimits?: FigureLimits | undefined;
}

/** What a version is made of. */
export interface VersionContents extends BundleContents {
  place: Place;
  mirror: Mirror;
  /** The archive before, and its refs. */
  before: ArchiveState;
  archived: ArchivedRefs;
  /** The versions that the archive has. */
  versions: readonly VersionEntry[];
  /** Whether the files of the archive can be continued by an increment. */
  isUsable: boolean;
  /** Whether to write the files again without a new version. */
  isSame: boolean;
  warning: string | null;
}

/** A version that was written, with the note that still lacks its figures. */
export interface WrittenVersion {
  record: ArchiveRecord;
  /** Null if the files alone were written again. */
  facts: VersionFacts | null;
}

/**
 * The versions of an archive. That of an archive of an earlier release, which has no manifest, gets one now.
 */
export async function nameVersions(
  source: Source,
  place: Place,
  before: ArchiveState,
  { refs }: ArchivedRefs,
): Promise<readonly VersionEntry[]> {
  if (before.versions.length > 0 || before.files.length === 0) return before.versions;
  const version = await nextVersion(place, []);
  const { mtimeMs } = await stat(join(place.folder, place.key));
  const manifest: VersionManifest = {
    format: 1,
    repository: source.name,
    address: before.record?.address ?? null,
    version,
    at: new Date(mtimeMs).toISOString(),
    run_id: null,
    head_branch: before.record?.head_branch ?? null,
    refs: Object.fromEntries(refs),
    files: listFiles(before),
    prerequisites: [],
    previous_sha256: null,
  };
  const text = await publishManifest(place, manifest);
  return [describeVersion(manifest, text, null)];
}

/** Numbers are not used again, not even those of versions that a damaged archive took along. */
async function nextVersion(
  { folder, key }: Place,
  versions: readonly VersionEntry[],
): Promise<number> {
  const found = (await nullIfMissing(readdir(join(folder, manifestFolder(key))))) ?? [];
  const numbers = found.flatMap((name) => /^(\d{1,9})\.json$/.exec(name)?.[1] ?? []).map(Number);
  return Math.max(0, versions.at(-1)?.version ?? 0, ...numbers) + 1;
}

/** Writes a version as an increment of its archive, or with all others in a new full bundle. */
export async function writeVersion(
  options: VersionOptions,
  contents: VersionContents,
): Promise<WrittenVersion> {
  const { isSame, isUsable, before } = contents;
  const { record } = before;
  if (!isSame && isUsable && record !== null && !isFullDue(options, before)) {
    return append(options, contents, record);
  }
  return rewrite(options, contents);
}

function isFullDue({ incrementsFromBytes }: VersionOptions, { files }: ArchiveState): boolean {
  const [bundle, ...increments] = files;
  if (bundle === undefined || bundle.sizeBytes < incrementsFromBytes) return true;
  const bytes = increments.reduce((total, { sizeBytes }) => total + sizeBytes, 0);
  return increments.length >= MAX_INCREMENTS || bytes * 2 > bundle.sizeBytes;
}

async function append(
  options: VersionOptions,
  contents: VersionContents,
  record: ArchiveRecord,
): Promise<WrittenVersion> {
  const { git } = options;
  const { place, mirror, before, archived, versions } = contents;
  const path = join(place.scratch, 'increment.bundle');
  const had = new Set([...archived.refs.values(), ...archived.kept.values()]);
  const timeoutMs = await packTimeout(options, mirror);
  const prerequisites = await writeIncrement(
    git,
    mirror,
    path,
    { ...contents, before: had },
    timeoutMs,
  );
  const { sha256, sizeBytes, blob } = await sealBundle(path);
  const { name, number } = await publishIncrement(path, place, record.next_increment);
  const files = [...listFiles(before), { name, sha256, size_bytes: sizeBytes }];
  const manifest = await describe(options, contents, { files, prerequisites });
  const text = await publishManifest(place, manifest);
  const entry = { ...describeVersion(manifest, text, contents.warning), files: files.length };
  const increments = [...listIncrements(before), { name, sha256, size_bytes: sizeBytes, blob }];
  const next: ArchiveRecord = {
    ...(await currentBundle(record, before, place)),
    ...originOf(options, contents),
    increments,
    versions: [...versions, entry],
    next_increment: number + 1,
    figures: uncountedFigures(contents.refs),
  };
  await settleNote(place, next);
  return { record: next, facts: describeFacts(contents, next, manifest, entry, sizeBytes) };
}

/** The note's facts about the full bundle in place, whose time may differ from the note. */
async function currentBundle(
  record: ArchiveRecord,
  { files: [bundle] }: ArchiveState,
  { folder, key }: Place,
): Promise<ArchiveRecord> {
  const { mtimeMs } = await stat(join(folder, key));
  return {
    ...record,
    archive_sha256: bundle?.sha256 ?? record.archive_sha256,
    archive_size_bytes: bundle?.sizeBytes ?? record.archive_size_bytes,
    archive_modified_ms: Math.floor(mtimeMs),
    archive_blob: bundle?.sha256 === record.archive_sha256 ? record.archive_blob : null,
    obsolete: [],
  };
}

async function rewrite(
  options: VersionOptions,
  contents: VersionContents,
): Promise<WrittenVersion> {
  const { git, recordedSha256, now } = options;
  const { place, mirror, before, versions, isSame, isUsable } = contents;
  const [bundle] = before.files;
  const timeoutMs = () => packTimeout(options, mirror);
  const isLarge = bundle !== undefined && bundle.sizeBytes >= options.incrementsFromBytes;
  if (isLarge && isUsable) await repack(git, mirror, await timeoutMs());
  const path = join(place.scratch, 'archive.bundle');
  // A mirror that stands in for a damaged archive is read object by object.
  await writeFullBundle(git, mirror, path, contents, {
    timeoutMs,
    mayCopy: isUsable || bundle === undefined,
  });
  const { sha256, blob, sizeBytes, modifiedMs } = await sealBundle(path);
  const file = { name: place.key, sha256, size_bytes: sizeBytes };
  const others = versions.map((entry) => ({ ...entry, files: 1 }));
  const manifest = isSame
    ? null
    : await describe(options, contents, { files: [file], prerequisites: [] });
  const entry =
    manifest === null
      ? null
      : describeVersion(manifest, await publishManifest(place, manifest), contents.warning);
  const record: ArchiveRecord = {
    version: 2,
    archive_sha256: sha256,
    archive_size_bytes: sizeBytes,
    archive_modified_ms: modifiedMs,
    archive_blob: blob,
    ...originOf(options, contents),
    incomplete: null,
    increments: [],
    versions: entry === null ? others : [...others, entry],
    next_increment: before.record?.next_increment ?? 1,
    obsolete: before.files.slice(1).map(({ name }) => name),
    checked_at: new Date(now()).toISOString(),
    replacing: null,
    figures: uncountedFigures(contents.refs),
  };
  await publishBundle(path, place, { record, before, recordedSha256 });
  const facts =
    manifest === null || entry === null
      ? null
      : describeFacts(contents, record, manifest, entry, sizeBytes);
  return { record, facts };
}

function originOf({ source }: VersionOptions, { refs, headBranch }: VersionContents) {
  return {
    address: source.location,
    head_branch: headBranch,
    refs_sha256: digestRefs(refs),
    host: source.host?.url ?? null,
  };
}

function listIncrements({ files }: ArchiveState): Increment[] {
  return files.slice(1).map(({ name, sha256, sizeBytes, blob }) => {
    if (sha256 === null) throw new Error('an increment without a recorded SHA-256');
    return { name, sha256, size_bytes: sizeBytes, ...(blob === undefined ? {} : { blob }) };
  });
}

function listFiles({ files }: ArchiveState): VersionManifest['files'] {
  return files.map(({ name, sha256, sizeBytes }) => ({ name, sha256, size_bytes: sizeBytes }));
}

async function describe(
  { source, runId, now }: VersionOptions,
  { place, refs, headBranch, versions }: VersionContents,
  files: Pick<VersionManifest, 'files' | 'prerequisites'>,
): Promise<VersionManifest> {
  return {
    format: 1,
    repository: source.name,
    address: source.location,
    version: await nextVersion(place, versions),
    at: new Date(now()).toISOString(),
    run_id: runId,
    head_branch: headBranch,
    refs: Object.fromEntries(refs),
    ...files,
    previous_sha256: versions.at(-1)?.manifest_sha256 ?? null,
  };
}

function describeVersion(
  { version, at, run_id, refs }: VersionManifest,
  text: string,
  warning: string | null,
): VersionEntry {
  const ref_count = Object.keys(refs).length;
  return { version, at, run_id, manifest_sha256: hashText(text), files: 1, ref_count, warning };
}

function describeFacts(
  { archived, refs, headBranch, place, versions }: VersionContents,
  record: ArchiveRecord,
  { version, at }: VersionManifest,
  entry: VersionEntry,
  newBytes: number,
): VersionFacts {
  const changes = new Map<string, string | null>();
  for (const [name, id] of refs) if (archived.refs.get(name) !== id) changes.set(name, id);
  for (const name of archived.refs.keys()) if (!refs.has(name)) changes.set(name, null);
  return {
    version,
    previousManifestSha256: versions.at(-1)?.manifest_sha256 ?? null,
    at,
    headBranch,
    refs,
    refsSha256: digestRefs(refs),
    manifestSha256: entry.manifest_sha256,
    archiveKey: place.key,
    files: entry.files,
    sizeBytes: archiveBytes(record),
    newBytes,
    warning: entry.warning,
    changes,
  };
}

async function packTimeout(
  { git, packTimeoutMs = PACK_TIMEOUT_MS }: VersionOptions,
  { gitDir }: Mirror,
): Promise<number> {
  const lines = await git.read([`--git-dir=${gitDir}`, 'count-objects', '-v']);
  const sizes = [...lines.matchAll(/^size(?:-pack)?: (\d+)$/gm)].map(([, size]) => Number(size));
  const bytes = sizes.reduce((total, size) => total + size * 1024, 0);
  return Math.min(packTimeoutMs + bytes / PACK_BYTES_PER_MS, MAX_PACK_TIMEOUT_MS);
}

import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { digestRefs } from '../../../archives/base/manifest.ts';
import type { Increment } from '../../../archives/base/note.ts';
import { nullIfMissing } from '../../../files.ts';
import { GitError } from '../../../git/git.ts';
import type { VersionFacts } from '../../base/run-entry.ts';
import { type Mirror, repack } from '../../mirror/mirror.ts';
import { type ArchiveOnDisk, type ArchiveRecord, sealBundle } from '../archive.ts';
import { measureNew, writeFullBundle, writeIncrement } from '../bundle-file.ts';
import { uncountedFigures } from '../figures.ts';
import {
  type Place,
  publishBundle,
  publishIncrement,
  publishManifest,
  settleNote,
} from '../publish.ts';
import { firstIncrement } from '../set-aside.ts';
import {
  describeFacts,
  describeManifest,
  describeVersion,
  listFiles,
  type VersionContents,
  type VersionOptions,
} from './describe-version.ts';

/** An archive is compacted when it has this many increments, or when they reach half the size of its full bundle. */
const MAX_INCREMENTS = 50;
/** git packs about 25 MB per second, but folders nested thousands deep can take hours with only a few bytes. */
const PACK_TIMEOUT_MS = 10 * 60_000;
const PACK_BYTES_PER_MS = 500;
const MAX_PACK_TIMEOUT_MS = 12 * 60 * 60_000;

/** A version that was written, and its note, which still lacks figures. */
interface WrittenVersion {
  record: ArchiveRecord;
  /** Null if only the files were rewritten. */
  facts: VersionFacts | null;
}

/** Writes a version as an increment of its archive, or together with all others in a new full bundle. */
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

function isFullDue({ incrementsFromBytes }: VersionOptions, { files }: ArchiveOnDisk): boolean {
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
  const had = idsOf(archived);
  const timeoutMs = await packTimeout(options, mirror);
  const prerequisites = await writeIncrement(
    git,
    mirror,
    path,
    { ...contents, before: had },
    timeoutMs,
  );
  const { sha256, sizeBytes, blob, modifiedMs } = await sealBundle(path);
  const { name, number } = await publishIncrement(path, place, record.next_increment);
  const files = [...listFiles(before), { name, sha256, size_bytes: sizeBytes }];
  const manifest = await describeManifest(options, contents, { files, prerequisites });
  const text = await publishManifest(place, manifest);
  const entry = { ...describeVersion(manifest, text, contents.warning), files: files.length };
  const added = { name, sha256, size_bytes: sizeBytes, blob, modified_ms: modifiedMs };
  const increments = [...listIncrements(before), added];
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

/** The note's facts about the current full bundle, whose modification time may differ from the note. */
async function currentBundle(
  record: ArchiveRecord,
  before: ArchiveOnDisk,
  place: Place,
): Promise<ArchiveRecord> {
  const { folder, key } = place;
  const {
    files: [bundle],
  } = before;
  const { mtimeMs } = await stat(join(folder, key));
  return {
    ...record,
    archive_sha256: bundle?.sha256 ?? record.archive_sha256,
    archive_size_bytes: bundle?.sizeBytes ?? record.archive_size_bytes,
    archive_modified_ms: Math.floor(mtimeMs),
    archive_blob: bundle?.sha256 === record.archive_sha256 ? record.archive_blob : null,
    obsolete: await listObsolete(place, before),
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
    : await describeManifest(options, contents, { files: [file], prerequisites: [] });
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
    next_increment:
      before.record?.next_increment ?? (await firstIncrement(place.folder, place.key)),
    obsolete: [
      ...before.files.slice(1).map(({ name }) => name),
      ...(await listObsolete(place, before)),
    ],
    checked_at: new Date(now()).toISOString(),
    replacing: null,
    figures: uncountedFigures(contents.refs),
  };
  await publishBundle(path, place, { record, before, recordedSha256 });
  if (manifest === null || entry === null) return { record, facts: null };
  const newBytes = await measureNewBytes(options, contents, sizeBytes);
  return { record, facts: describeFacts(contents, record, manifest, entry, newBytes) };
}

/**
 * The bytes that a version in a full bundle of `sizeBytes` added: of the first one all, and as many if that cannot be
 * found out, which says of a later one that it is unknown. It is published already, so measuring must not fail it.
 */
async function measureNewBytes(
  options: VersionOptions,
  { mirror, refs, archived }: VersionContents,
  sizeBytes: number,
): Promise<number> {
  const had = idsOf(archived);
  if (had.size === 0) return sizeBytes;
  try {
    return await measureNew(options.git, mirror, refs, had, await packTimeout(options, mirror));
  } catch (error) {
    if (error instanceof GitError && error.fault !== 'stopped') return sizeBytes;
    throw error;
  }
}

/** The ids that an archive reaches everything from. */
function idsOf({ refs, kept }: VersionContents['archived']): Set<string> {
  return new Set([...refs.values(), ...kept.values()]);
}

function originOf({ source }: VersionOptions, { refs, headBranch }: VersionContents) {
  return {
    repository: source.name,
    address: source.location,
    head_branch: headBranch,
    refs_sha256: digestRefs(refs),
    host: source.host?.url ?? null,
  };
}

function listIncrements({ files }: ArchiveOnDisk): Increment[] {
  return files.slice(1).map(({ name, sha256, sizeBytes, blob, modifiedMs }) => {
    if (sha256 === null) throw new Error('an increment without a recorded SHA-256');
    return {
      ...{ name, sha256, size_bytes: sizeBytes },
      ...(blob === undefined ? {} : { blob }),
      ...(modifiedMs === undefined ? {} : { modified_ms: modifiedMs }),
    };
  });
}

/** Increments that the note calls obsolete, but that a run was killed before deleting. */
async function listObsolete(
  { folder }: Place,
  { record, files }: ArchiveOnDisk,
): Promise<string[]> {
  const left: string[] = [];
  for (const name of record?.obsolete ?? []) {
    const isUsed = files.some((file) => file.name === name);
    if (!isUsed && (await nullIfMissing(stat(join(folder, name)))) !== null) left.push(name);
  }
  return left;
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

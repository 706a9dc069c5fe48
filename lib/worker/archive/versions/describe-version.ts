import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { digestRefs, hashText, type VersionManifest } from '../../../archives/base/manifest.ts';
import type { VersionEntry } from '../../../archives/base/note.ts';
import type { Git } from '../../../git/git.ts';
import type { NewAnomaly } from '../../../records/anomalies/kinds.ts';
import type { VersionHash } from '../../../records/recording/versions.ts';
import type { VersionFacts } from '../../base/run-entry.ts';
import type { Source } from '../../base/source.ts';
import type { Mirror } from '../../mirror/mirror.ts';
import { type ArchiveOnDisk, type ArchiveRecord, archiveBytes } from '../archive.ts';
import type { BundleContents } from '../bundle-file.ts';
import { listManifests } from '../manifests.ts';
import { type Place, publishManifest } from '../publish.ts';
import type { ArchivedRefs } from './archived-refs.ts';
import { timeOfNext } from './version-time.ts';

/** What writing a version needs from its run. */
export interface VersionOptions {
  git: Git;
  source: Source;
  runId: number | null;
  /** SHA-256 of the archive according to the database; null if there is none. */
  recordedSha256: string | null;
  /**
   * The versions according to the database: the newest number, how many can be restored, and the newest of these; null
   * if there is none.
   */
  recordedVersions: { newest: number; restorable: number; newestRestorable: VersionHash | null };
  /** Full bundles of at least this size get increments. */
  incrementsFromBytes: number;
  /** Milliseconds since the epoch, as far as known. */
  now(): number;
  /** Milliseconds that packing may take in addition to what the size needs. Default: 10 minutes. */
  packTimeoutMs?: number;
}

/** The contents of a version. */
export interface VersionContents extends BundleContents {
  place: Place;
  mirror: Mirror;
  /** The previous archive, and its refs. */
  before: ArchiveOnDisk;
  archived: ArchivedRefs;
  /** The versions in the archive. */
  versions: readonly VersionEntry[];
  /** Whether an increment can be appended to the archive's files. */
  isUsable: boolean;
  /** Whether to rewrite the files without a new version. */
  isSame: boolean;
  warning: string | null;
  anomalies: readonly NewAnomaly[];
}

/** The versions of an archive. The only version of an archive from an earlier release gets its manifest now. */
export async function nameVersions(
  source: Source,
  place: Place,
  before: ArchiveOnDisk,
  { refs }: ArchivedRefs,
): Promise<readonly VersionEntry[]> {
  if (before.versions.length > 0 || before.files.length === 0) return before.versions;
  const version = await nextVersion(place, [], 0);
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

/** Numbers are never reused, not even those of versions lost with a missing or damaged archive. */
async function nextVersion(
  { folder, key }: Place,
  versions: readonly VersionEntry[],
  newestRecorded: number,
): Promise<number> {
  const newestThere = (await listManifests(folder, key)).at(-1) ?? 0;
  return Math.max(newestRecorded, versions.at(-1)?.version ?? 0, newestThere) + 1;
}

/** The files of an archive, as listed in a manifest. */
export function listFiles({ files }: ArchiveOnDisk): VersionManifest['files'] {
  return files.map(({ name, sha256, sizeBytes }) => ({ name, sha256, size_bytes: sizeBytes }));
}

/** The manifest of a new version. */
export async function describeManifest(
  { source, runId, now, recordedVersions }: VersionOptions,
  { place, refs, headBranch, versions }: VersionContents,
  files: Pick<VersionManifest, 'files' | 'prerequisites'>,
): Promise<VersionManifest> {
  return {
    format: 1,
    repository: source.name,
    address: source.location,
    version: await nextVersion(place, versions, recordedVersions.newest),
    at: timeOfNext(versions, now()),
    run_id: runId,
    head_branch: headBranch,
    refs: Object.fromEntries(refs),
    ...files,
    previous_sha256: versions.at(-1)?.manifest_sha256 ?? null,
  };
}

/** A version as listed in the note, contained in the full bundle alone. */
export function describeVersion(
  { version, at, run_id, refs }: VersionManifest,
  text: string,
  warning: string | null,
): VersionEntry {
  const ref_count = Object.keys(refs).length;
  return { version, at, run_id, manifest_sha256: hashText(text), files: 1, ref_count, warning };
}

/** The facts to record about a new version. */
export function describeFacts(
  { archived, refs, headBranch, place, versions, anomalies }: VersionContents,
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
    anomalies,
    changes,
  };
}

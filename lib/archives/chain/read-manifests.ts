import { cleanName } from '../../text/clean-text.ts';
import { ArchiveFault, corrupt, mismatch } from '../base/archive-fault.ts';
import { isSameRepository } from '../base/archive-name.ts';
import {
  hashText,
  MAX_MANIFEST_BYTES,
  manifestName,
  parseManifest,
  type VersionManifest,
} from '../base/manifest.ts';
import type { VersionEntry } from '../base/note.ts';
import type { OpenArchive } from '../base/open-archive.ts';

/**
 * Reads the manifest of a version and checks it against the note: its SHA-256, and the link to the version before
 * it if that one was not pruned, and the repository. Throws CORRUPT_ARCHIVE or CHECKSUM_MISMATCH, and names the file.
 */
export async function readManifest(
  archive: OpenArchive,
  entry: VersionEntry,
): Promise<VersionManifest> {
  const name = `${archive.manifests}/${manifestName(entry.version)}`;
  const text = await archive.readBeside(name, MAX_MANIFEST_BYTES);
  if (text === null) throw corrupt(`${name}, the manifest of version ${entry.version}, is missing`);
  const sha256 = hashText(text);
  if (sha256 !== entry.manifest_sha256) {
    throw mismatch(`${name}: its SHA-256 is ${sha256}, recorded is ${entry.manifest_sha256}`);
  }
  const manifest = parseManifest(text);
  if (manifest === null) throw corrupt(`${name} is not a manifest`);
  if (manifest.version !== entry.version) {
    throw corrupt(`${name} is the manifest of version ${manifest.version}`);
  }
  const { repository } = archive;
  if (repository !== null && !isSameRepository(manifest.repository, repository)) {
    const other = cleanName(manifest.repository);
    throw corrupt(`${name} is the manifest of another repository, ${other}`);
  }
  const versions = archive.noted?.versions ?? [];
  const before = versions.find(({ version }) => version === entry.version - 1);
  if (before !== undefined && manifest.previous_sha256 !== before.manifest_sha256) {
    throw mismatch(`${name} does not follow the manifest of version ${before.version}`);
  }
  return manifest;
}

/**
 * The objects that the refs of an archive's versions point to. Throws ArchiveFault, which names the manifest that is
 * missing or altered.
 */
export async function readTips(archive: OpenArchive, signal: AbortSignal): Promise<Set<string>> {
  const tips = new Set<string>();
  for (const entry of archive.noted?.versions ?? []) {
    signal.throwIfAborted();
    try {
      const { refs } = await readManifest(archive, entry);
      for (const id of Object.values(refs)) tips.add(id);
    } catch (error) {
      if (!(error instanceof ArchiveFault) || (await isListed(archive, entry))) throw error;
    }
  }
  return tips;
}

/** Whether the note still lists a version: a run may have pruned it since. */
async function isListed(archive: OpenArchive, { version }: VersionEntry): Promise<boolean> {
  const note = await archive.readNote();
  const versions = [...(note?.versions ?? []), ...(note?.replacing?.versions ?? [])];
  return versions.some((entry) => entry.version === version);
}

import { corrupt, mismatch } from '../archive-fault.ts';
import {
  hashText,
  MAX_MANIFEST_BYTES,
  manifestFolder,
  manifestName,
  parseManifest,
  type VersionManifest,
} from '../manifest.ts';
import type { VersionEntry } from '../note.ts';
import type { OpenArchive } from '../open-archive.ts';

/**
 * Reads the manifest of a version and checks it against the note: its SHA-256, and the link to the version before
 * it if that one was not pruned. Throws CORRUPT_ARCHIVE or CHECKSUM_MISMATCH, and names the file.
 */
export async function readManifest(
  archive: OpenArchive,
  entry: VersionEntry,
): Promise<VersionManifest> {
  const name = `${manifestFolder(archive.name)}/${manifestName(entry.version)}`;
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
  const versions = archive.noted?.versions ?? [];
  const before = versions.find(({ version }) => version === entry.version - 1);
  if (before !== undefined && manifest.previous_sha256 !== before.manifest_sha256) {
    throw mismatch(`${name} does not follow the manifest of version ${before.version}`);
  }
  return manifest;
}

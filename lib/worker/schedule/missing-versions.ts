import { digestRefs } from '../../archives/manifest.ts';
import { readArchiveState } from '../archive/archive.ts';
import type { RunStore } from '../spool/run-store.ts';
import { readManifest } from '../versions/manifests.ts';

/**
 * Records the versions of an archive that are newer than the newest recorded one. A worker that was killed between
 * making a version and recording it leaves one.
 */
export async function recordMissingVersions(
  { store, archiveFolder }: { store: RunStore; archiveFolder: string },
  { repository, key }: { repository: string; key: string },
  newestRecorded: number | null,
): Promise<void> {
  const { versions } = await readArchiveState(archiveFolder, key);
  for (const entry of versions) {
    if (entry.version <= (newestRecorded ?? 0)) continue;
    const manifest = await readManifest(archiveFolder, key, entry);
    // It is noticed, and said, when the archive is read again.
    if (manifest === null) continue;
    const refs = new Map(Object.entries(manifest.refs));
    const sizes = manifest.files.map(({ size_bytes }) => size_bytes);
    await store.write({
      type: 'version',
      repository,
      facts: {
        version: entry.version,
        previousManifestSha256: null,
        at: entry.at,
        headBranch: manifest.head_branch,
        refs,
        refsSha256: digestRefs(refs),
        manifestSha256: entry.manifest_sha256,
        archiveKey: key,
        files: entry.files,
        sizeBytes: sizes.reduce((total, size) => total + size, 0),
        newBytes: sizes.at(-1) ?? 0,
        warning: entry.warning,
        changes: refs,
      },
    });
  }
}

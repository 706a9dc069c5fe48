import { ArchiveFault } from '../archive-fault.ts';
import type { VersionEntry } from '../note.ts';
import type { OpenArchive } from '../open-archive.ts';
import { readManifest } from './read-manifest.ts';

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

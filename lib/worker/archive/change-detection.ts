import { digestRefs } from '../../archives/manifest.ts';
import type { RemoteRefs } from '../mirror/refs.ts';
import { DamagedArchive, readArchivedRefs } from '../versions/archived-refs.ts';
import type { ArchiveRecord, ArchiveState } from './archive.ts';

/**
 * Whether a source has the same refs and HEAD branch as the newest version of its archive. Reads neither
 * objects nor, except for an archive of an earlier release, the archive.
 */
export async function isUnchanged(
  folder: string,
  archive: Pick<ArchiveState, 'files'> & { record: ArchiveRecord },
  remote: RemoteRefs,
): Promise<boolean> {
  const { record } = archive;
  if (remote.headBranch !== null && remote.headBranch !== record.head_branch) return false;
  const archived = record.refs_sha256 ?? (await digestArchived(folder, archive));
  const current = digestRefs(remote.refs);
  return archived === current;
}

/** Null if the archive cannot be read, so that it is written again. */
async function digestArchived(
  folder: string,
  archive: Pick<ArchiveState, 'files'>,
): Promise<string | null> {
  try {
    return digestRefs((await readArchivedRefs(folder, archive)).refs);
  } catch (error) {
    if (error instanceof DamagedArchive) return null;
    throw error;
  }
}

import { digestRefs } from '../../archives/base/manifest.ts';
import type { ArchiveRecord, ArchiveState } from '../archive/archive.ts';
import type { RepositoryBackup } from '../archive/repository-backup.ts';
import { DamagedArchive, readArchivedRefs } from '../archive/versions/archived-refs.ts';
import type { RemoteRefs } from '../mirror/refs.ts';

/**
 * The note of an archive whose newest version has the refs and the HEAD branch of the source; else null. Reads no
 * objects, and the archive only if an earlier release wrote it.
 */
export async function findUnchanged(
  { archiveFolder, recordedSha256, isDamaged }: RepositoryBackup,
  before: ArchiveState,
  remote: RemoteRefs,
): Promise<ArchiveRecord | null> {
  const { record, isSettled } = before;
  if (isDamaged || record === null || !isSettled) return null;
  if (record.archive_sha256 !== recordedSha256) return null;
  if (remote.headBranch !== null && remote.headBranch !== record.head_branch) return null;
  const archivedRefs = record.refs_sha256 ?? (await digestArchived(archiveFolder, before));
  const remoteRefs = digestRefs(remote.refs);
  return archivedRefs === remoteRefs ? record : null;
}

/** The digest of an archive from an earlier release. Null if it cannot be read, so that it is rewritten. */
async function digestArchived(folder: string, archive: ArchiveState): Promise<string | null> {
  try {
    return digestRefs((await readArchivedRefs(folder, archive)).refs);
  } catch (error) {
    if (error instanceof DamagedArchive) return null;
    throw error;
  }
}

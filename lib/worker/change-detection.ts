import { join } from 'node:path';
import { type Git, GitError } from '../git/git.ts';
import { type ArchiveRecord, readArchiveRecord } from './archive.ts';
import { type Refs, type RemoteRefs, readBundleRefs, sameRefs } from './refs.ts';

/**
 * The archive's note if the archive can be kept: it is the recorded one, was not modified since, and has
 * the same refs and HEAD branch as the repository. Does not verify the archive's objects again.
 */
export async function findUnchangedArchive(
  {
    git,
    archiveFolder,
    recordedSha256,
  }: { git: Git; archiveFolder: string; recordedSha256: string | null },
  key: string,
  remote: RemoteRefs,
): Promise<ArchiveRecord | null> {
  const record = await readArchiveRecord(archiveFolder, key);
  if (record === null || record.archive_sha256 !== recordedSha256) return null;
  if (remote.headBranch !== null && remote.headBranch !== record.head_branch) return null;
  const archived = await readArchivedRefs(git, join(archiveFolder, key));
  return archived !== null && sameRefs(archived, remote.refs) ? record : null;
}

/** Null if the archive cannot be read, so that it is written again. */
async function readArchivedRefs(git: Git, path: string): Promise<Refs | null> {
  try {
    return await readBundleRefs(git, path);
  } catch (error) {
    if (error instanceof GitError) return null;
    throw error;
  }
}

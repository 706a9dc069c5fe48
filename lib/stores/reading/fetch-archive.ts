import { mkdir, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { noteName } from '../../archives/base/note.ts';
import { bytesToFetch, fetchFile } from './fetch-file.ts';
import type { StoredVersion } from './find-version.ts';
import { ObjectFault } from './object-fault.ts';
import { filesOf, type StateReading } from './read-state.ts';

/** How many files are downloaded concurrently. */
const AT_ONCE = 3;
const PARTS = '.parts';

/** A file that could not be downloaded. */
export interface UnfetchedFile {
  name: string;
  fault: ObjectFault;
}

/** The progress of a download. */
export interface FetchProgress {
  files: number;
  allFiles: number;
  bytes: number;
  allBytes: number;
}

/**
 * Downloads what a version needs into a folder, which then is an archive folder with that version. Existing files are
 * kept. Returns every file that could not be downloaded. Throws StoreFault if the store cannot be used, and file system
 * errors.
 */
export async function fetchArchive(
  reading: StateReading,
  { state, entry }: StoredVersion,
  folder: string,
  onProgress: (progress: FetchProgress) => void,
): Promise<UnfetchedFile[]> {
  const { archive, note, parsedNote } = state;
  const files = filesOf(state, entry);
  const parts = join(folder, PARTS);
  await mkdir(parts, { recursive: true, mode: 0o700 });
  const progress: FetchProgress = {
    files: 0,
    allFiles: files.length,
    bytes: 0,
    allBytes: files.reduce((sum, file) => sum + file.stored_bytes, 0),
  };
  onProgress(progress);
  await reading.objects.prepare?.(files.map(({ key }) => key));
  const limit = pLimit(AT_ONCE);
  const unfetched: UnfetchedFile[] = [];
  let isStopped = false;
  const work = files.map((file) =>
    limit(async () => {
      if (isStopped) return;
      try {
        await fetchFile(reading, file, { path: folder, parts }, (bytes) => {
          progress.bytes = Math.min(progress.bytes + bytes, progress.allBytes);
          onProgress(progress);
        });
        progress.files++;
        onProgress(progress);
      } catch (error) {
        if (!(error instanceof ObjectFault)) {
          isStopped = true;
          throw error;
        }
        unfetched.push({ name: file.name, fault: error });
      }
    }),
  );
  // All downloads have ended before anything else happens to the folder.
  for (const result of await Promise.allSettled(work)) {
    if (result.status === 'rejected') throw result.reason;
  }
  if (unfetched.length > 0) return unfetched;
  if (parsedNote.archive_modified_ms !== undefined) {
    const modified = parsedNote.archive_modified_ms / 1_000;
    await utimes(join(folder, archive), modified, modified);
  }
  // Written last, so that a folder with a note is complete.
  const draft = join(parts, 'note.json');
  await writeFile(draft, note, { mode: 0o600 });
  await rename(draft, join(folder, noteName(archive)));
  await rm(parts, { recursive: true, force: true });
  return [];
}

/** How many bytes of a version remain to be downloaded. */
export async function sizeToFetch(
  { state, entry }: StoredVersion,
  folder: string,
): Promise<number> {
  let size = 0;
  for (const file of filesOf(state, entry)) size += await bytesToFetch(file, folder);
  return size;
}

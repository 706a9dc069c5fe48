import type { Environment } from '../../../config/read.ts';
import { createGit, type Git } from '../../../git/git.ts';
import type { NewSnapshot } from '../../../records/recording/snapshots.ts';
import { archiveNameOf, keysOf } from '../../../stores/base/layout.ts';
import type { GitStore } from '../../../stores/git/git-store.ts';
import { isGuidePath } from '../../../stores/git/guide.ts';
import { parsePart } from '../../../stores/git/parts.ts';
import { cleanText } from '../../../text/clean-text.ts';
import { readArchiveRecord } from '../../archive/archive.ts';
import { measureHistory } from '../../archive/figures.ts';
import { archiveFigures, archiveName, type SizedFile, sumSizes } from '../../archive/snapshot.ts';
import { readCloneRefs } from '../../mirror/refs.ts';
import type { PushClone } from './push-clone.ts';

/** The figures of a destination, and how many of its files have an unknown size. */
export interface DestinationFigures {
  snapshot: NewSnapshot;
  unknownSizes: number;
}

interface MeasureOptions {
  git: Git;
  clone: PushClone;
  archiveFolder: string;
}

/** Measures a destination for analytics: its history, and the files of its default branch. Throws GitError. */
export async function measureDestination(options: MeasureOptions): Promise<DestinationFigures> {
  const files = await listFiles(options);
  const archives = files.filter(({ path }) => isArchive(path));
  const snapshot = await describe(options.git, options.clone, files, archives);
  return { snapshot, unknownSizes: files.filter(({ size }) => size === null).length };
}

interface MeasureStoreOptions {
  repository: GitStore;
  environment: Environment;
  signal: AbortSignal;
}

/** Measures a destination in the layout `parts`, whose file names contain sizes. Throws GitError and StoreFault. */
export async function measureStore(options: MeasureStoreOptions): Promise<DestinationFigures> {
  const { repository, environment, signal } = options;
  const git = createGit(environment, signal);
  const { clone, files } = await repository.inspect();
  const sized: SizedFile[] = [];
  const archives = new Map<string, number>();
  for (const path of files.keys()) {
    const part = parsePart(path);
    sized.push({ path, size: part?.bytes ?? null });
    const name = part === null ? null : archiveNameOf(part.key);
    if (part !== null && name !== null) archives.set(name, (archives.get(name) ?? 0) + part.bytes);
  }
  const stored = [...archives].map(([name, size]) => ({
    path: `${keysOf(name)}`,
    size,
    isFull: true,
  }));
  // The size of the guide is negligible.
  const unknown = sized.filter(({ path, size }) => size === null && !isGuidePath(path));
  return { snapshot: await describe(git, clone, sized, stored), unknownSizes: unknown.length };
}

async function describe(
  git: Git,
  clone: Pick<PushClone, 'gitDir' | 'tip'>,
  files: readonly SizedFile[],
  archives: readonly SizedFile[],
): Promise<NewSnapshot> {
  const isEmpty = clone.tip() === null;
  const refs = isEmpty ? new Map<string, string>() : await readCloneRefs(git, clone.gitDir);
  const { total, average, largest } = sumSizes(files);
  return {
    ...(await measureHistory(git, clone.gitDir, refs)),
    ...archiveFigures(archives),
    tracked_files: files.length,
    total_blob_size_bytes: total,
    avg_blob_size_bytes: average,
    largest_blob_path: cleanText(largest.path),
    largest_blob_size_bytes: largest.size,
  };
}

/** Only files at the root are archives. */
const isArchive = (path: string) => !path.includes('/') && archiveName.test(path);

/** The files of the destination. Sizes come from local objects and archives: the clone of a remote has no files. */
async function listFiles({ git, clone, archiveFolder }: MeasureOptions): Promise<SizedFile[]> {
  const files = clone.files();
  const sizes = new Map<string, number>();
  const wanted = new Set(files.values());
  // Lists all local objects, because asking for a missing one would fetch it.
  const check = ['cat-file', '--batch-all-objects', '--unordered', '--batch-check'];
  for await (const line of git.stream([`--git-dir=${clone.gitDir}`, ...check], '\n')) {
    const [id = '', , size] = line.split(' ');
    if (wanted.has(id)) sizes.set(id, Number(size));
  }
  for (const [path, id] of files) {
    if (sizes.has(id) || !isArchive(path)) continue;
    const record = await readArchiveRecord(archiveFolder, path);
    if (record?.archive_blob === id) sizes.set(id, record.archive_size_bytes);
  }
  return [...files].map(([path, id]) => ({ path, size: sizes.get(id) ?? null }));
}

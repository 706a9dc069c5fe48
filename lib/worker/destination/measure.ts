import { cleanText } from '../../platform/clean-text.ts';
import type { Git } from '../../platform/git.ts';
import type { NewSnapshot } from '../../records/recording/snapshots.ts';
import { readArchiveRecord } from '../archive.ts';
import { measureHistory } from '../figures.ts';
import { readCloneRefs } from '../refs.ts';
import { archiveName, average } from '../snapshot.ts';
import type { PushClone } from './push-clone.ts';

/** The figures of a destination, and how many of its files have a size that is not known. */
export interface DestinationFigures {
  snapshot: NewSnapshot;
  unknownSizes: number;
}

export interface MeasureOptions {
  git: Git;
  clone: PushClone;
  archiveFolder: string;
}

interface DestinationFile {
  path: string;
  /** Bytes; null when it is not known. */
  size: number | null;
}

/**
 * The analytics snapshot of a destination (decisions 7, Counting): of its history, and of the files of
 * its default branch. Throws GitError.
 */
export async function measureDestination(options: MeasureOptions): Promise<DestinationFigures> {
  const { git, clone } = options;
  const tip = clone.tip();
  const refs = tip === null ? new Map<string, string>() : await readCloneRefs(git, clone.gitDir);
  const history = await measureHistory(git, clone.gitDir, refs);
  const files = tip === null ? [] : await listFiles(options, tip);
  const archives = files.filter(({ path }) => !path.includes('/') && archiveName.test(path));
  const [all, archived] = [sumSizes(files), sumSizes(archives)];
  return {
    snapshot: {
      ...history,
      tracked_files: files.length,
      total_blob_size_bytes: all.total,
      avg_blob_size_bytes: average(all.total, files.length),
      largest_blob_path: cleanText(all.largest?.path ?? ''),
      largest_blob_size_bytes: all.largest?.size ?? 0,
      archive_count: archives.length,
      total_archive_size_bytes: archived.total,
      avg_archive_size_bytes: average(archived.total, archives.length),
      largest_archive_path: cleanText(archived.largest?.path ?? ''),
      largest_archive_size_bytes: archived.largest?.size ?? 0,
    },
    unknownSizes: files.filter(({ size }) => size === null).length,
  };
}

/** The files of a commit. Their sizes come from what is here: the clone of a remote has no files. */
async function listFiles(
  { git, clone, archiveFolder }: MeasureOptions,
  tip: string,
): Promise<DestinationFile[]> {
  const entries: { path: string; id: string }[] = [];
  const tree = [`--git-dir=${clone.gitDir}`, 'ls-tree', '-r', '-z', tip];
  for await (const record of git.stream(tree, '\0')) {
    const [facts = ''] = record.split('\t', 1);
    const [, type, id = ''] = facts.split(' ');
    if (type === 'blob') entries.push({ path: record.slice(facts.length + 1), id });
  }
  const sizes = new Map<string, number>();
  const wanted = new Set(entries.map(({ id }) => id));
  // Every object that is here, because to ask for one that is not would fetch it.
  const check = ['cat-file', '--batch-all-objects', '--unordered', '--batch-check'];
  for await (const line of git.stream([`--git-dir=${clone.gitDir}`, ...check], '\n')) {
    const [id = '', , size] = line.split(' ');
    if (wanted.has(id)) sizes.set(id, Number(size));
  }
  for (const { path, id } of entries) {
    if (sizes.has(id) || path.includes('/') || !archiveName.test(path)) continue;
    const record = await readArchiveRecord(archiveFolder, path);
    if (record?.archive_blob === id) sizes.set(id, record.archive_size_bytes);
  }
  return entries.map(({ path, id }) => ({ path, size: sizes.get(id) ?? null }));
}

function sumSizes(files: readonly DestinationFile[]) {
  let total = 0;
  let largest: { path: string; size: number } | null = null;
  for (const { path, size } of files) {
    if (size === null) continue;
    total += size;
    if (largest === null || size > largest.size) largest = { path, size };
  }
  return { total, largest: largest as { path: string; size: number } | null };
}

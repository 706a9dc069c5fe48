import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { archiveKey } from '../../archives/base/archive-name.ts';
import { noteName } from '../../archives/base/note.ts';
import type { NewSnapshot } from '../../records/recording/snapshots.ts';
import { cleanText } from '../../text/clean-text.ts';
import { readArchiveRecord } from './archive.ts';
import type { RepositoryFigures } from './figures.ts';

const INT4_MAX = 2_147_483_647;
/** File names of archives. */
export const archiveName = /\.(bundle|tar\.gz)$/i;

/** The figures of a run, and what they do not include. */
interface SourceFigures {
  snapshot: NewSnapshot;
  /** Repositories whose commits or files could not be counted. */
  uncounted: string[];
}

/**
 * The analytics snapshot of a run without a destination repository: git figures summed over the repositories
 * that have an archive, `head_*` of the newest commit, the largest blob as `owner/repo:path`; archive
 * figures of everything in the archive folder.
 */
export async function takeSnapshot(
  folder: string,
  repositories: readonly string[],
): Promise<SourceFigures> {
  const names = new Map(repositories.map((name) => [archiveKey(name), name]));
  const measured: { name: string; figures: RepositoryFigures }[] = [];
  for (const [key, name] of names) {
    const record = await readArchiveRecord(folder, key);
    if (record) measured.push({ name, figures: record.figures });
  }
  return {
    snapshot: { ...sumFigures(measured), ...(await measureArchives(folder)) },
    uncounted: measured
      .filter(({ figures }) => figures.uncounted.length > 0)
      .map(({ name }) => name),
  };
}

function sumFigures(measured: readonly { name: string; figures: RepositoryFigures }[]) {
  const sum = (field: CountField) =>
    measured.reduce((total, { figures }) => total + figures[field], 0);
  const newest = measured.reduce<RepositoryFigures | null>(
    (best, { figures }) => (commitTime(figures) > commitTime(best) ? figures : best),
    null,
  );
  const largest = measured.reduce<(typeof measured)[number] | null>((best, entry) => {
    const bytes = entry.figures.largest_blob_size_bytes;
    const isFile = entry.figures.largest_blob_path !== '';
    return isFile && bytes > (best?.figures.largest_blob_size_bytes ?? -1) ? entry : best;
  }, null);
  const files = sum('tracked_files');
  const blobBytes = sum('total_blob_size_bytes');
  return {
    head_commit: newest?.head_commit ?? '',
    head_commit_message: newest?.head_commit_message ?? '',
    head_commit_at: newest?.head_commit_at ?? null,
    total_commits: Math.min(sum('total_commits'), INT4_MAX),
    branch_count: sum('branch_count'),
    tag_count: sum('tag_count'),
    tracked_files: Math.min(files, INT4_MAX),
    total_blob_size_bytes: blobBytes,
    avg_blob_size_bytes: average(blobBytes, files),
    largest_blob_path: largest ? `${largest.name}:${largest.figures.largest_blob_path}` : '',
    largest_blob_size_bytes: largest?.figures.largest_blob_size_bytes ?? 0,
  };
}

type CountField = {
  [Field in keyof RepositoryFigures]: RepositoryFigures[Field] extends number ? Field : never;
}[keyof RepositoryFigures];

function commitTime(figures: RepositoryFigures | null): number {
  if (figures === null || figures.head_commit === '') return Number.NEGATIVE_INFINITY;
  return figures.head_commit_at === null ? -Number.MAX_VALUE : Date.parse(figures.head_commit_at);
}

async function measureArchives(folder: string) {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  const files: SizedFile[] = [];
  for (const path of names.filter((name) => archiveName.test(name))) {
    const isFull = names.includes(noteName(path));
    files.push({ path, size: (await stat(join(folder, path))).size, isFull });
  }
  return archiveFigures(files);
}

/** A file and its size in bytes; null if unknown. */
export interface SizedFile {
  path: string;
  size: number | null;
  /** Whether it is a full archive, even if it is named like an increment. */
  isFull?: boolean;
}

/** A snapshot's figures about archives. An increment counts as part of the archive that it continues. */
export function archiveFigures(files: readonly SizedFile[]) {
  const archives = joinIncrements(files);
  const { total, average, largest } = sumSizes(archives);
  return {
    archive_count: archives.length,
    total_archive_size_bytes: total,
    avg_archive_size_bytes: average,
    largest_archive_path: cleanText(largest.path),
    largest_archive_size_bytes: largest.size,
  };
}

/** Adds the size of each increment to that of its full bundle, if there is one. */
function joinIncrements(files: readonly SizedFile[]): SizedFile[] {
  const archives = new Map(files.map((file) => [file.path, file]));
  for (const { path, size, isFull } of files) {
    if (isFull) continue;
    const [, stem] = /^(.+)\.\d+\.bundle$/.exec(path) ?? [];
    const full = archives.get(`${stem}.bundle`);
    if (full === undefined) continue;
    archives.delete(path);
    archives.set(full.path, {
      ...full,
      size: size === null || full.size === null ? null : full.size + size,
    });
  }
  return [...archives.values()];
}

/** Sums the known sizes; the average is over all files. */
export function sumSizes(files: readonly SizedFile[]) {
  let total = 0;
  let largest = { path: '', size: 0 };
  for (const { path, size } of files) {
    if (size === null) continue;
    total += size;
    if (largest.path === '' || size > largest.size) largest = { path, size };
  }
  return { total, largest, average: average(total, files.length) };
}

/** The rounded mean; 0 if there are none. */
function average(total: number, count: number): number {
  return count === 0 ? 0 : Math.round(total / count);
}

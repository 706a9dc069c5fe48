import type { Environment } from '../../config/read.ts';
import { createGit, type Git, GitError } from '../../git/git.ts';
import type { NewSnapshot } from '../../records/recording/snapshots.ts';
import type { GitStore } from '../../stores/git/git-store.ts';
import { isGuidePath } from '../../stores/git/guide.ts';
import { parsePart } from '../../stores/git/parts.ts';
import { archiveNameOf, keysOf } from '../../stores/layout.ts';
import { cleanText } from '../../text/clean-text.ts';
import { readArchiveRecord } from '../archive/archive.ts';
import { figureLimits, measureHistory } from '../archive/figures.ts';
import { archiveFigures, archiveName, type SizedFile, sumSizes } from '../archive/snapshot.ts';
import { readCloneRefs } from '../mirror/refs.ts';
import type { PushClone } from './push-clone.ts';

/** The figures of a destination, and how many of its files have an unknown size. */
export interface DestinationFigures {
  snapshot: NewSnapshot;
  unknownSizes: number;
}

export interface MeasureOptions {
  git: Git;
  clone: PushClone;
  archiveFolder: string;
}

/** Measures a destination for analytics: its history, and the files of its default branch. Throws GitError. */
export async function measureDestination(options: MeasureOptions): Promise<DestinationFigures> {
  const { git, clone } = options;
  const tip = clone.tip();
  const refs = tip === null ? new Map<string, string>() : await readCloneRefs(git, clone.gitDir);
  const history = await measureHistory(git, clone.gitDir, refs);
  const files = tip === null ? [] : await listFiles(options, tip);
  const { total, average, largest } = sumSizes(files);
  return {
    snapshot: {
      ...history,
      ...archiveFigures(files.filter(({ path }) => isArchive(path))),
      tracked_files: files.length,
      total_blob_size_bytes: total,
      avg_blob_size_bytes: average,
      largest_blob_path: cleanText(largest.path),
      largest_blob_size_bytes: largest.size,
    },
    unknownSizes: files.filter(({ size }) => size === null).length,
  };
}

export interface MeasureStoreOptions {
  repository: GitStore;
  environment: Environment;
  signal: AbortSignal;
}

/** The same of a destination in the layout `parts`, whose names tell sizes. Throws GitError and StoreFault. */
export async function measureStore(options: MeasureStoreOptions): Promise<DestinationFigures> {
  const { repository, environment, signal } = options;
  const git = createGit(environment, signal);
  const { clone, files } = await repository.inspect();
  const refs =
    clone.tip() === null ? new Map<string, string>() : await readCloneRefs(git, clone.gitDir);
  const history = await measureHistory(git, clone.gitDir, refs);
  const sized: SizedFile[] = [];
  const archives = new Map<string, number>();
  for (const path of files.keys()) {
    const part = parsePart(path);
    sized.push({ path, size: part?.bytes ?? null });
    const name = part === null ? null : archiveNameOf(part.key);
    if (part !== null && name !== null) archives.set(name, (archives.get(name) ?? 0) + part.bytes);
  }
  const { total, average, largest } = sumSizes(sized);
  const stored = [...archives].map(([name, size]) => ({
    path: `${keysOf(name)}`,
    size,
    isFull: true,
  }));
  return {
    snapshot: {
      ...history,
      ...archiveFigures(stored),
      tracked_files: files.size,
      total_blob_size_bytes: total,
      avg_blob_size_bytes: average,
      largest_blob_path: cleanText(largest.path),
      largest_blob_size_bytes: largest.size,
    },
    // The guide is as good as nothing.
    unknownSizes: sized.filter(({ path, size }) => size === null && !isGuidePath(path)).length,
  };
}

/** Only files at the root are archives. */
const isArchive = (path: string) => !path.includes('/') && archiveName.test(path);

/**
 * The files of a commit. Sizes come from local objects and archives, since the clone of a remote contains no
 * files.
 */
async function listFiles(
  { git, clone, archiveFolder }: MeasureOptions,
  tip: string,
): Promise<SizedFile[]> {
  const entries: { path: string; id: string }[] = [];
  const tree = [`--git-dir=${clone.gitDir}`, 'ls-tree', '-r', '-z', tip];
  const { entries: max, timeoutMs } = figureLimits;
  for await (const record of git.stream(tree, '\0', { timeoutMs })) {
    if (entries.length === max) throw new GitError(`it has more than ${max} files`, 'output');
    const [facts = ''] = record.split('\t', 1);
    const [, type, id = ''] = facts.split(' ');
    if (type === 'blob') entries.push({ path: record.slice(facts.length + 1), id });
  }
  const sizes = new Map<string, number>();
  const wanted = new Set(entries.map(({ id }) => id));
  // Lists all local objects, because asking for a missing one would fetch it.
  const check = ['cat-file', '--batch-all-objects', '--unordered', '--batch-check'];
  for await (const line of git.stream([`--git-dir=${clone.gitDir}`, ...check], '\n')) {
    const [id = '', , size] = line.split(' ');
    if (wanted.has(id)) sizes.set(id, Number(size));
  }
  for (const { path, id } of entries) {
    if (sizes.has(id) || !isArchive(path)) continue;
    const record = await readArchiveRecord(archiveFolder, path);
    if (record?.archive_blob === id) sizes.set(id, record.archive_size_bytes);
  }
  return entries.map(({ path, id }) => ({ path, size: sizes.get(id) ?? null }));
}

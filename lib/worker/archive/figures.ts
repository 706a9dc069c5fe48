import * as z from 'zod';
import { type Git, GitError } from '../../git/git.ts';
import { cleanText } from '../../text/clean-text.ts';
import type { Refs } from '../mirror/refs.ts';
import { countPointers, type LfsFiles, POINTER_BYTES } from './lfs.ts';

/** The git figures of one repository, named as in an analytics snapshot. */
export const repositoryFigures = z.object({
  head_commit: z.string(),
  head_commit_message: z.string(),
  head_commit_at: z.iso.datetime().nullable(),
  total_commits: z.int().min(0),
  branch_count: z.int().min(0),
  tag_count: z.int().min(0),
  tracked_files: z.int().min(0),
  total_blob_size_bytes: z.int().min(0),
  largest_blob_path: z.string(),
  largest_blob_size_bytes: z.int().min(0),
  /** Files of HEAD in Git LFS; null if they were not counted. */
  lfs: z
    .object({ count: z.int().min(0), bytes: z.number().min(0) })
    .nullable()
    .default(null),
  /** Submodules of HEAD; null if they were not counted. */
  submodules: z.int().min(0).nullable().default(null),
  /** What could not be counted: its figures are 0 and meaningless. */
  uncounted: z.array(z.enum(['commits', 'files'])).default([]),
});

export type RepositoryFigures = z.output<typeof repositoryFigures>;

/** Limits of counting: a repository of a few bytes can have a tree of a billion files. */
export interface FigureLimits {
  entries: number;
  /** Applies to the commits and the files separately. */
  timeoutMs: number;
}

const figureLimits: FigureLimits = { entries: 1_000_000, timeoutMs: 60_000 };

/** Histories shorter than this are listed rather than counted. */
const SHORT_HISTORY = 1_000;

/** The figures that refs alone provide. */
export function uncountedFigures(refs: Refs): RepositoryFigures {
  return { ...noHistory(refs), ...noTree, uncounted: ['commits', 'files'] };
}

/**
 * Counts a clone: commits reachable from the `revisions`, and the files of HEAD's tree with their sizes.
 * `head_commit_message` is the subject line. What git cannot count within the limits is reported as
 * uncounted.
 */
export async function measureClone(
  git: Git,
  gitDir: string,
  refs: Refs,
  limits = figureLimits,
  revisions: readonly string[] = ['--all'],
): Promise<RepositoryFigures> {
  const head = refs.get('HEAD') ?? '';
  const history = await unlessGitFails(measureHistory(git, gitDir, refs, limits, revisions));
  const tree = await unlessGitFails(measureTree(git, gitDir, head, limits));
  return {
    ...(history ?? noHistory(refs)),
    ...(tree ?? noTree),
    uncounted: [
      ...(history === null ? (['commits'] as const) : []),
      ...(tree === null ? (['files'] as const) : []),
    ],
  };
}

async function unlessGitFails<Figures>(measuring: Promise<Figures>): Promise<Figures | null> {
  try {
    return await measuring;
  } catch (error) {
    if (error instanceof GitError) return null;
    throw error;
  }
}

/** The figures of commits and refs, which need no files. Throws GitError. */
export async function measureHistory(
  git: Git,
  gitDir: string,
  refs: Refs,
  { timeoutMs }: Pick<FigureLimits, 'timeoutMs'> = figureLimits,
  revisions: readonly string[] = ['--all'],
) {
  const figures = noHistory(refs);
  const short = await measureShortHistory(git, gitDir, figures.head_commit, timeoutMs, revisions);
  if (short !== null) return { ...figures, ...short };
  const count = [`--git-dir=${gitDir}`, 'rev-list', ...revisions, '--count'];
  const commits = await git.read(count, { timeoutMs });
  return {
    ...figures,
    ...(await readHead(git, gitDir, figures.head_commit)),
    total_commits: Number.parseInt(commits, 10),
  };
}

function noHistory(refs: Refs) {
  return {
    head_commit: refs.get('HEAD') ?? '',
    head_commit_message: '',
    head_commit_at: null as string | null,
    total_commits: 0,
    branch_count: countRefs(refs, 'refs/heads/'),
    tag_count: countRefs(refs, 'refs/tags/'),
  };
}

/** `git log`, unaffected by the user's configuration. */
const log = ['log', '--no-show-signature', '--no-color'];

/**
 * Counts the commits and reads HEAD's with one process, since starting processes dominates the time for a small
 * repository. Null if there are too many commits, or if HEAD's is not among them.
 */
async function measureShortHistory(
  git: Git,
  gitDir: string,
  head: string,
  timeoutMs: number,
  revisions: readonly string[],
) {
  if (head === '') return null;
  const some = [`--max-count=${SHORT_HISTORY}`, '-z', '--format=%H %ct %s', ...revisions, '--'];
  let commits = 0;
  let line: string | null = null;
  try {
    for await (const record of git.stream([`--git-dir=${gitDir}`, ...log, ...some], '\0', {
      timeoutMs,
    })) {
      commits++;
      if (record.startsWith(`${head} `)) line = record.slice(head.length + 1);
    }
  } catch (error) {
    // The subject of a commit exceeds one mebibyte.
    if (error instanceof GitError && error.fault === 'output') return null;
    throw error;
  }
  if (commits === SHORT_HISTORY || line === null) return null;
  return { ...parseHead(line), total_commits: commits };
}

async function readHead(git: Git, gitDir: string, head: string) {
  if (head === '') return {};
  const one = [`--git-dir=${gitDir}`, ...log, '-1', '--format=%ct %s', head, '--'];
  return parseHead(await git.read(one));
}

/** Parses the time of a commit in seconds, followed by its subject. */
function parseHead(line: string) {
  const [seconds = ''] = line.split(' ', 1);
  return {
    head_commit_message: cleanText(line.slice(seconds.length)),
    head_commit_at: toTime(Number(seconds)),
  };
}

/** Commits may have any date; null outside the years 1 to 9999. */
function toTime(seconds: number): string | null {
  const time = new Date(seconds * 1_000);
  const year = time.getUTCFullYear();
  return year >= 1 && year <= 9999 ? time.toISOString() : null;
}

const noTree = {
  tracked_files: 0,
  total_blob_size_bytes: 0,
  largest_blob_path: '',
  largest_blob_size_bytes: 0,
  lfs: null as LfsFiles | null,
  submodules: null as number | null,
};

async function measureTree(
  git: Git,
  gitDir: string,
  head: string,
  { entries: max, timeoutMs }: FigureLimits,
) {
  const tree = { ...noTree };
  if (head === '') return { ...tree, lfs: { count: 0, bytes: 0 }, submodules: 0 };
  const list = [`--git-dir=${gitDir}`, 'ls-tree', '-r', '-l', '-z', head];
  let entries = 0;
  let submodules = 0;
  let hasAttributes = false;
  const pointers: string[] = [];
  for await (const entry of git.stream(list, '\0', { timeoutMs })) {
    if (++entries > max) throw new GitError(`the tree has more than ${max} files`, 'output');
    // `<mode> <type> <object> <size>\t<path>`; a submodule has no size and is not a file.
    const [facts = '', path = ''] = splitOnce(entry, '\t');
    const [, type, id = '', size = ''] = facts.split(/ +/);
    if (type === 'commit') submodules++;
    if (type !== 'blob') continue;
    const bytes = Number(size);
    hasAttributes ||= path === '.gitattributes' || path.endsWith('/.gitattributes');
    if (bytes >= POINTER_BYTES.min && bytes <= POINTER_BYTES.max) pointers.push(id);
    tree.tracked_files++;
    tree.total_blob_size_bytes += bytes;
    if (tree.largest_blob_path === '' || bytes > tree.largest_blob_size_bytes) {
      tree.largest_blob_path = cleanText(path);
      tree.largest_blob_size_bytes = bytes;
    }
  }
  tree.submodules = submodules;
  // Without attributes nothing is in Git LFS.
  tree.lfs = await countPointers(git, gitDir, hasAttributes ? pointers : [], timeoutMs);
  return tree;
}

function countRefs(refs: Refs, prefix: string): number {
  return [...refs.keys()].filter((name) => name.startsWith(prefix)).length;
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + separator.length)];
}

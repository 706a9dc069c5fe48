import { z } from 'zod';
import { cleanText } from '../platform/clean-text.ts';
import type { Git } from '../platform/git.ts';
import type { Refs } from './refs.ts';

/** The git figures of one repository, in the words of RepoAnalyticsSnapshot (spec 1). */
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
});

export type RepositoryFigures = z.output<typeof repositoryFigures>;

/**
 * Counts a clone: commits reachable from any ref, and the files of HEAD's tree with their sizes.
 * `head_commit_message` is the subject line. Throws GitError.
 */
export async function measureClone(
  git: Git,
  gitDir: string,
  refs: Refs,
): Promise<RepositoryFigures> {
  const head = refs.get('HEAD') ?? '';
  return {
    ...(await measureHistory(git, gitDir, refs)),
    ...(await measureTree(git, gitDir, head)),
  };
}

/** The figures of a clone that need no file: its commits and refs. Throws GitError. */
export async function measureHistory(git: Git, gitDir: string, refs: Refs) {
  const head = refs.get('HEAD') ?? '';
  const commits = await git.read([`--git-dir=${gitDir}`, 'rev-list', '--all', '--count']);
  return {
    ...(await readHead(git, gitDir, head)),
    total_commits: Number.parseInt(commits, 10),
    branch_count: countRefs(refs, 'refs/heads/'),
    tag_count: countRefs(refs, 'refs/tags/'),
  };
}

async function readHead(git: Git, gitDir: string, head: string) {
  if (head === '') return { head_commit: '', head_commit_message: '', head_commit_at: null };
  const format = ['log', '-1', '--no-show-signature', '--no-color', '--format=%ct %s', head, '--'];
  const line = await git.read([`--git-dir=${gitDir}`, ...format]);
  const [seconds = ''] = line.split(' ', 1);
  return {
    head_commit: head,
    head_commit_message: cleanText(line.slice(seconds.length)),
    head_commit_at: toTime(Number(seconds)),
  };
}

/** A commit may claim any date; one that no calendar here has is left out. */
function toTime(seconds: number): string | null {
  const time = new Date(seconds * 1_000);
  const year = time.getUTCFullYear();
  return year >= 1 && year <= 9999 ? time.toISOString() : null;
}

async function measureTree(git: Git, gitDir: string, head: string) {
  const tree = {
    tracked_files: 0,
    total_blob_size_bytes: 0,
    largest_blob_path: '',
    largest_blob_size_bytes: 0,
  };
  if (head === '') return tree;
  const entries = git.stream([`--git-dir=${gitDir}`, 'ls-tree', '-r', '-l', '-z', head], '\0');
  for await (const entry of entries) {
    // `<mode> <type> <object> <size>\t<path>`; a submodule has no size and is no file of this tree.
    const [facts = '', path = ''] = splitOnce(entry, '\t');
    const [, type, , size = ''] = facts.split(/ +/);
    if (type !== 'blob') continue;
    const bytes = Number(size);
    tree.tracked_files++;
    tree.total_blob_size_bytes += bytes;
    if (tree.largest_blob_path === '' || bytes > tree.largest_blob_size_bytes) {
      tree.largest_blob_path = cleanText(path);
      tree.largest_blob_size_bytes = bytes;
    }
  }
  return tree;
}

function countRefs(refs: Refs, prefix: string): number {
  return [...refs.keys()].filter((name) => name.startsWith(prefix)).length;
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + separator.length)];
}

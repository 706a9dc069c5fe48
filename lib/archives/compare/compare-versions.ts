import type { Clock } from '../../clock.ts';
import { GitError } from '../../git/git.ts';
import { cleanText } from '../../text/clean-text.ts';
import type { ArchiveLimits } from '../base/limits.ts';
import type { OpenArchive } from '../base/open-archive.ts';
import { type TreeChecks, withObjects } from '../bundle-contents.ts';
import { readChain } from '../chain/read-chain.ts';
import { isOutOfBounds, type Objects } from '../contents/list-tree.ts';
import { type ComparedVersions, type CompareRequest, readCompared, treeOf } from './compared.ts';

/** How two versions of a repository differ. Of each list only the first entries are there; counts may be cut too. */
export interface Comparison {
  repository: string;
  archive: string;
  /** Null if there is no earlier version. */
  from: ComparedVersion | null;
  to: ComparedVersion;
  refs: { added: number; moved: number; removed: number } & Cut<ChangedRef>;
  /** Commits that only one of the versions has, the newest first. */
  commits: { added: CommitList; removed: CommitList };
  files: { added: number; changed: number; removed: number } & Cut<ChangedFile>;
}

interface ComparedVersion {
  /** Null for an archive of an earlier release. */
  version: number | null;
  at: string;
}

/** The first entries of a list, and whether there are, or may be, more. */
interface Cut<Entry> {
  data: Entry[];
  truncated: boolean;
}

interface ChangedRef {
  name: string;
  change: 'added' | 'moved' | 'removed';
  from_id: string | null;
  to_id: string | null;
}

interface CommitList extends Cut<Commit> {
  /** Counted up to a limit; `truncated` says whether there may be more. */
  count: number;
}

interface Commit {
  id: string;
  /** ISO 8601 in UTC. */
  at: string;
  author: string;
  subject: string;
}

interface ChangedFile {
  path: string;
  change: 'added' | 'changed' | 'removed';
  type: 'file' | 'symlink' | 'submodule';
}

/** More commits, or changed files, are not counted. */
const MAX_COMMITS = 10_000;
const MAX_FILES = 100_000;
/** Of all paths that only one version is known to have. */
const MAX_PATH_CHARACTERS = 32 * 2 ** 20;
const MAX_REF_LENGTH = 1_000;
const MAX_AUTHOR_LENGTH = 100;
const MAX_SUBJECT_LENGTH = 300;
/** Two hexadecimal digits of a second at most: what a Date can hold. */
const LAST_SECOND = 8_640_000_000_000;

/** What every step is bounded by. */
interface Bounds {
  limit: number;
  limits: ArchiveLimits;
  /** In milliseconds since the epoch; one for all steps. */
  deadline: number;
  clock: Clock;
}

/**
 * Compares two versions: where refs point, the commits that can be reached from them, and the files of one branch.
 * Whatever is too much or takes too long is cut, and says so. Throws NOT_FOUND, ArchiveFault and GitError.
 */
export async function compareVersions(
  archive: OpenArchive,
  request: CompareRequest & { limit: number },
  checks: TreeChecks & { clock: Clock },
): Promise<Omit<Comparison, 'repository' | 'archive'>> {
  const chain = await readChain(archive);
  const compared = await readCompared(archive, chain, request);
  return withObjects(archive, chain, checks, async (objects) => {
    const { limits, clock } = checks;
    const deadline = clock.now() + limits.listTimeoutMs;
    const bounds = { limit: request.limit, limits, deadline, clock };
    const { from, to } = compared;
    return {
      from: from && { version: from.version, at: from.at },
      to: { version: to.version, at: to.at },
      refs: compareRefs(compared, bounds),
      commits: {
        added: await listCommits(objects, idsOf(to), idsOf(from), bounds),
        removed: await listCommits(objects, idsOf(from), idsOf(to), bounds),
      },
      files: await compareFiles(objects, compared, bounds),
    };
  });
}

/** Adds to a list until it is full. */
function createList<Entry>({ limit, limits }: Bounds): Cut<Entry> & { add(entry: Entry): void } {
  let characters = 0;
  const list = {
    data: [] as Entry[],
    truncated: false,
    add(entry: Entry) {
      characters += JSON.stringify(entry).length + 1;
      if (list.data.length === limit || characters > limits.listedCharacters) list.truncated = true;
      // After a long entry, a short one would leave a gap in between.
      if (!list.truncated) list.data.push(entry);
    },
  };
  return list;
}

function compareRefs({ from, to }: ComparedVersions, bounds: Bounds): Comparison['refs'] {
  const before: ReadonlyMap<string, string> = from?.refs.refs ?? new Map();
  const after = to.refs.refs;
  const counts = { added: 0, moved: 0, removed: 0 };
  const list = createList<ChangedRef>(bounds);
  for (const name of [...new Set([...before.keys(), ...after.keys()])].sort()) {
    const from_id = before.get(name) ?? null;
    const to_id = after.get(name) ?? null;
    if (from_id === to_id) continue;
    const change = from_id === null ? 'added' : to_id === null ? 'removed' : 'moved';
    counts[change]++;
    list.add({ name: cleanText(name, MAX_REF_LENGTH), change, from_id, to_id });
  }
  return { ...counts, data: list.data, truncated: list.truncated };
}

/** Everything that the refs of a version point to. */
function idsOf(version: ComparedVersions['from']): Set<string> {
  if (version === null) return new Set();
  const { refs, head } = version.refs;
  return new Set([...refs.values(), ...('id' in head ? [head.id] : [])]);
}

/** The commits that can be reached from `tips`, but not from `others`. */
async function listCommits(
  { git, gitDir }: Objects,
  tips: ReadonlySet<string>,
  others: ReadonlySet<string>,
  bounds: Bounds,
): Promise<CommitList> {
  const list = createList<Commit>(bounds);
  const wanted = [...tips].filter((id) => !others.has(id));
  let count = 0;
  if (wanted.length === 0) return { count, data: list.data, truncated: false };
  const stdin = `${[...wanted, ...[...others].map((id) => `^${id}`)].join('\n')}\n`;
  const format = `%H %ct %<(${MAX_AUTHOR_LENGTH},trunc)%an%x00%<(${MAX_SUBJECT_LENGTH},trunc)%s`;
  const options = ['--no-mailmap', '--no-notes', '--no-color', '--no-show-signature'];
  const args = [
    ...[`--git-dir=${gitDir}`, '-c', 'log.excludeDecoration=*', 'log', '--stdin', ...options],
    ...[`--max-count=${MAX_COMMITS + 1}`, `--format=tformat:${format}%x00`],
  ];
  const isCut = await unlessOutOfBounds(async () => {
    const records = git.stream(args, '\0', { stdin, timeoutMs: timeLeft(bounds) });
    let head: string | null = null;
    for await (const record of records) {
      if (head === null) {
        head = record;
        continue;
      }
      if (count === MAX_COMMITS) return true;
      count++;
      list.add(parseCommit(head, record));
      head = null;
    }
    return false;
  });
  return { count, data: list.data, truncated: list.truncated || isCut };
}

function parseCommit(head: string, subject: string): Commit {
  const [id = '', seconds = '', ...author] = head.trimStart().split(' ');
  const time = Math.max(-LAST_SECOND, Math.min(Number(seconds) || 0, LAST_SECOND));
  return {
    id,
    at: new Date(time * 1_000).toISOString(),
    author: cleanText(author.join(' '), MAX_AUTHOR_LENGTH + 2),
    subject: cleanText(subject, MAX_SUBJECT_LENGTH + 2),
  };
}

/**
 * Reads both trees side by side. `git diff-tree` would hold all differences in memory before it writes the first, and a
 * tree of some bytes can have a billion files.
 */
async function compareFiles(
  objects: Objects,
  { from, to, ref }: ComparedVersions,
  bounds: Bounds,
): Promise<Comparison['files']> {
  const trees = [await treeOf(objects, from, ref), await treeOf(objects, to, ref)];
  const { changes, isCut } = await findChanges(objects, trees, bounds);
  const counts = { added: 0, changed: 0, removed: 0 };
  const list = createList<ChangedFile>(bounds);
  for (const file of changes.sort((one, other) => (one.path < other.path ? -1 : 1))) {
    counts[file.change]++;
    list.add(file);
  }
  return { ...counts, data: list.data, truncated: list.truncated || isCut };
}

async function findChanges(
  { git, gitDir }: Objects,
  [before = '', after = '']: string[],
  bounds: Bounds,
): Promise<{ changes: ChangedFile[]; isCut: boolean }> {
  const changes: ChangedFile[] = [];
  if (before === after) return { changes, isCut: false };
  const sides = [before, after].map((tree) => {
    const args = [`--git-dir=${gitDir}`, 'ls-tree', '-r', '-z', '--full-tree', tree];
    const lines = git.stream(args, '\0', { timeoutMs: timeLeft(bounds) });
    /** What the other side has not had yet. */
    return { lines: lines[Symbol.asyncIterator](), unmatched: new Map<string, string>() };
  });
  let characters = 0;
  const add = (path: string, facts: string, change: ChangedFile['change']) => {
    const [mode = ''] = facts.split(' ');
    changes.push({ path, change, type: types[mode] ?? 'file' });
  };
  const isCut = await unlessOutOfBounds(async () => {
    try {
      for (let side = 0, ended = 0; ended < 2; side = 1 - side) {
        const [own, other] = [sides[side], sides[1 - side]];
        const next = await own?.lines.next();
        ended = next?.done ? ended + 1 : 0;
        if (!own || !other || !next || next.done) continue;
        const tab = next.value.indexOf('\t');
        const [path, facts] = [next.value.slice(tab + 1), next.value.slice(0, tab)];
        const there = other.unmatched.get(path);
        other.unmatched.delete(path);
        if (there === undefined) own.unmatched.set(path, facts);
        else if (there !== facts) add(path, side === 1 ? facts : there, 'changed');
        characters += there === undefined ? path.length : -path.length;
        const found = changes.length + own.unmatched.size + other.unmatched.size;
        if (found >= MAX_FILES || characters > MAX_PATH_CHARACTERS) return true;
      }
      return false;
    } finally {
      await Promise.all(sides.map(({ lines }) => lines.return?.()));
    }
  });
  const [old, current] = sides;
  for (const [path, facts] of old?.unmatched ?? []) add(path, facts, 'removed');
  for (const [path, facts] of current?.unmatched ?? []) add(path, facts, 'added');
  return { changes, isCut };
}

/** By mode; all others are files. */
const types: Record<string, ChangedFile['type']> = { '120000': 'symlink', '160000': 'submodule' };

function timeLeft({ deadline, clock }: Bounds): number {
  return Math.max(1, deadline - clock.now());
}

/** Runs a step, which returns whether it was cut; so it was if a limit of time or of git ended it. */
async function unlessOutOfBounds(step: () => Promise<boolean>): Promise<boolean> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof GitError && isOutOfBounds(error)) return true;
    throw error;
  }
}

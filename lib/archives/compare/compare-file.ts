import { isUtf8 } from 'node:buffer';
import type { Clock } from '../../clock.ts';
import { GitError } from '../../git/git.ts';
import type { OpenArchive } from '../base/open-archive.ts';
import type { EntryType } from '../base/results.ts';
import { type TreeChecks, withObjects } from '../bundle-contents.ts';
import { readChain } from '../chain/read-chain.ts';
import { NoSuchFile } from '../contents/file-content.ts';
import { findInTree, isOutOfBounds, type Objects } from '../contents/list-tree.ts';
import { type CompareRequest, readCompared, treeOf } from './compared.ts';

/** How one file differs between two versions. */
export interface FileComparison {
  repository: string;
  archive: string;
  path: string;
  /** Null where it does not exist. */
  from: ComparedFile | null;
  to: ComparedFile | null;
  /** Only the difference of text files that are not too large is shown. */
  kind: 'text' | 'binary' | 'too_large';
  /** A unified difference without its head; null unless `kind` is text. Empty if the contents are equal. */
  diff: string | null;
  /** Whether the rest of the difference was cut off. */
  truncated: boolean;
}

interface ComparedFile {
  size: number;
  mode: string;
  type: EntryType;
}

type Found = NonNullable<Awaited<ReturnType<typeof findInTree>>>;

/** Compares a file of two versions. Throws NOT_FOUND if neither has it, ArchiveFault and GitError. */
export async function compareFile(
  archive: OpenArchive,
  request: CompareRequest & { path: string },
  checks: TreeChecks & { clock: Clock },
): Promise<Omit<FileComparison, 'repository' | 'archive'>> {
  const { path } = request;
  const chain = await readChain(archive);
  const compared = await readCompared(archive, chain, request);
  return withObjects(archive, chain, checks, async (objects) => {
    const find = async (version: typeof compared.from) =>
      findInTree({ ...objects, commit: await treeOf(objects, version, request.ref) }, path);
    const from = fileOf(await find(compared.from));
    const to = fileOf(await find(compared.to));
    if (from === null && to === null) throw new NoSuchFile(path, []);
    const facts = { path, from: from && describe(from), to: to && describe(to) };
    return { ...facts, ...(await differ(objects, [from, to], checks)) };
  });
}

/** A submodule has no content here, and a folder is no file. */
function fileOf(found: Found | null): Found | null {
  return found !== null && ['file', 'symlink'].includes(found.entry.type) ? found : null;
}

function describe({ entry: { size, mode, type } }: Found): ComparedFile {
  return { size, mode, type };
}

async function differ(
  objects: Objects,
  files: readonly (Found | null)[],
  { limits, clock }: Pick<TreeChecks, 'limits'> & { clock: Clock },
): Promise<Pick<FileComparison, 'kind' | 'diff' | 'truncated'>> {
  const { git, gitDir } = objects;
  const deadline = clock.now() + limits.listTimeoutMs;
  if (files.some((file) => (file?.entry.size ?? 0) > limits.comparedBytes)) {
    return { kind: 'too_large', diff: null, truncated: false };
  }
  const ids: string[] = [];
  for (const file of files) {
    const id = file?.id ?? (await idOfNothing(objects));
    const bytes = await git.readBytes([`--git-dir=${gitDir}`, 'cat-file', 'blob', id]);
    if (!isText(bytes)) return { kind: 'binary', diff: null, truncated: false };
    ids.push(id);
  }
  const lines: string[] = [];
  let left = limits.differenceBytes;
  let isCut = false;
  const options = ['--no-ext-diff', '--no-textconv', '--no-color', '--text', '--unified=3'];
  const args = [`--git-dir=${gitDir}`, 'diff', ...options, ...ids];
  const timeoutMs = Math.max(1, deadline - clock.now());
  try {
    for await (const line of git.stream(args, '\n', { timeoutMs })) {
      // Lines before the first hunk name the objects.
      if (lines.length === 0 && !line.startsWith('@@')) continue;
      left -= line.length + 1;
      isCut = left < 0;
      if (isCut) break;
      lines.push(line);
    }
  } catch (error) {
    if (!(error instanceof GitError) || !isOutOfBounds(error)) throw error;
    isCut = true;
  }
  return { kind: 'text', diff: lines.join('\n'), truncated: isCut };
}

/** The id of an empty file. git knows it without an object. */
async function idOfNothing({ git, gitDir }: Objects): Promise<string> {
  const args = [`--git-dir=${gitDir}`, 'hash-object', '-w', '--stdin'];
  return (await git.read(args, { stdin: '' })).trim();
}

/** NUL is valid UTF-8, but does not occur in text. */
function isText(bytes: Uint8Array): boolean {
  return isUtf8(bytes) && !bytes.includes(0);
}

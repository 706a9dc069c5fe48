import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import type { Clock } from '../../clock.ts';
import { AppError } from '../../errors.ts';
import { GitError } from '../../git/git.ts';
import { removeDeceptiveCharacters } from '../../text/hidden-text.ts';
import { counted, formatBytes } from '../../text/units.ts';
import type { ArchiveLimits } from '../base/limits.ts';
import { isOutOfBounds, parseEntry, type Tree } from './list-tree.ts';
import { readBlobs } from './read-blobs.ts';

/** A file of the zip. */
interface ZippedFile {
  id: string;
  /** Its path in the archive. */
  path: string;
  /** Its path in the zip, which is harmless wherever it is unpacked. */
  name: string;
  size: number;
  isExecutable: boolean;
}

/** What the zip has otherwise than the archive. */
interface Remarks {
  renamed: string[];
  links: string[];
  submodules: string[];
}

const REMARKS_NAME = 'READ-ME-FIRST.txt';
/** Most file systems take no longer path. */
const MAX_PATH = 4_095;
/** Of all paths together, which are kept in memory. */
const MAX_PATH_CHARACTERS = 32 * 2 ** 20;
/** How many paths of a kind are named in it. */
const MAX_NAMED = 1_000;

export function notAFolder(path: string): AppError {
  return new AppError('BAD_REQUEST', `${JSON.stringify(path)} is not a folder`);
}

/**
 * Writes the files below a folder of a tree as a zip: one file at a time, so memory holds only their names. What could
 * harm whoever unpacks it is made harmless, and named in a file of the zip. `ready` gets the date of the commit, and
 * returns where to write. Throws PAYLOAD_TOO_LARGE if the files are too many or too large, and GitError.
 */
export async function zipTree(
  tree: Tree,
  folder: string,
  { limits, clock, signal }: { limits: ArchiveLimits; clock: Clock; signal: AbortSignal },
  ready: (date: string) => Promise<NodeJS.WritableStream>,
): Promise<void> {
  const deadline = clock.now() + limits.zipTimeoutMs;
  const { files, remarks } = await listFiles(tree, folder, limits);
  const date = await readDate(tree);
  const zip = new ZipFile();
  const blobs = readBlobs(tree, files, { timeoutMs: Math.max(1, deadline - clock.now()) });
  const text = describeRemarks(remarks);
  if (text !== '') zip.addBuffer(Buffer.from(text), REMARKS_NAME, { mtime: date, mode: 0o100644 });
  for (const { name, size, isExecutable } of files) {
    const options = { mtime: date, mode: isExecutable ? 0o100755 : 0o100644, size };
    zip.addReadStreamLazy(name, options, (use) => {
      blobs.next().then(
        (blob) => {
          const content = Readable.from(blob, { objectMode: false });
          content.on('error', (error) => zip.emit('error', error));
          use(null, content);
        },
        (error) => zip.emit('error', error),
      );
    });
  }
  zip.end();
  const output = zip.outputStream as Readable;
  zip.on('error', (error: Error) => output.destroy(error));
  // Files may still be piped into it once it was destroyed.
  output.on('error', () => undefined);
  try {
    await pipeline(output, await ready(date.toISOString()), { signal });
  } catch (error) {
    // Half a zip is out, so that nothing may begin again.
    throw new Error('the zip was cut short', { cause: error });
  } finally {
    await blobs.close();
  }
}

async function readDate({ git, gitDir, commit }: Tree): Promise<Date> {
  const args = [`--git-dir=${gitDir}`, 'log', '-1', '--format=%ct', commit, '--'];
  const seconds = Number((await git.read(args)).trim());
  // What a zip can hold; a tag of a tree has no date.
  const isFit = seconds >= Date.UTC(1980, 0, 2) / 1_000 && seconds < Date.UTC(2106, 0, 1) / 1_000;
  return new Date(isFit ? seconds * 1_000 : Date.UTC(1980, 0, 2));
}

async function listFiles(
  { git, gitDir, commit }: Tree,
  folder: string,
  limits: ArchiveLimits,
): Promise<{ files: ZippedFile[]; remarks: Remarks }> {
  const files: ZippedFile[] = [];
  const remarks: Remarks = { renamed: [], links: [], submodules: [] };
  const names = new Map([[REMARKS_NAME, 1]]);
  let bytes = 0;
  let characters = 0;
  const inFolder = folder === '' ? [] : [`${folder}/`];
  const options = ['-r', '-z', '-l', '--full-tree'];
  const args = [`--git-dir=${gitDir}`, '--literal-pathspecs', 'ls-tree', ...options, '--', commit];
  const list = git.stream([...args, ...inFolder], '\0', { timeoutMs: limits.listTimeoutMs });
  try {
    for await (const line of list) {
      const { entry, id } = parseEntry(line);
      const { path, size } = entry;
      characters += path.length;
      if (entry.type === 'submodule') {
        remarks.submodules.push(path);
        continue;
      }
      bytes += size;
      const isFull = files.length === limits.zippedFiles || bytes > limits.zippedBytes;
      if (isFull || characters > MAX_PATH_CHARACTERS) throw tooLarge(limits);
      const name = unusedName(
        path.length > MAX_PATH ? `long-path/${id}` : harmlessPath(path),
        names,
      );
      if (name !== path) remarks.renamed.push(path);
      if (entry.type === 'symlink') remarks.links.push(path);
      files.push({ id, path, name, size, isExecutable: entry.mode === '100755' });
    }
  } catch (error) {
    if (error instanceof GitError && isOutOfBounds(error)) throw tooLarge(limits, error);
    throw error;
  }
  return { files, remarks };
}

function tooLarge(limits: ArchiveLimits, cause?: unknown): AppError {
  const most = `${counted(limits.zippedFiles, 'file')} of together ${formatBytes(limits.zippedBytes)}`;
  return new AppError(
    'PAYLOAD_TOO_LARGE',
    `the folder is too large for a zip, which may have ${most}: choose a folder inside it, or restore the version to a folder`,
    { cause },
  );
}

/** Folders that git takes for its own on some file systems, in which letter case and final dots do not count. */
const ofGit = /^(?:\.git|git~1)$/i;

/**
 * A path that stays below the folder in which a zip is unpacked, on any system, and is no folder of git, where a
 * configuration would run commands.
 */
function harmlessPath(path: string): string {
  const parts = path.split('/').map((part) => {
    const plain = removeDeceptiveCharacters(part).replace(/[\p{Cc}\p{Cf}\\:\ufffd]/gu, '_');
    const bare = part.replace(/\p{Cf}/gu, '').replace(/[. ]+$/, '');
    return bare === '' || ofGit.test(bare) ? `_${plain}` : plain;
  });
  return parts.join('/');
}

/** A malicious tree can have a name twice. `names`: how often each was wanted. */
function unusedName(wanted: string, names: Map<string, number>): string {
  for (;;) {
    const number = (names.get(wanted) ?? 0) + 1;
    names.set(wanted, number);
    const name = number === 1 ? wanted : `${wanted}~${number}`;
    if (number === 1 || !names.has(name)) {
      names.set(name, names.get(name) ?? 1);
      return name;
    }
  }
}

function describeRemarks({ renamed, links, submodules }: Remarks): string {
  const parts: [readonly string[], string][] = [
    [renamed, 'These files have other names here, because theirs are unsafe or exist twice:'],
    [links, 'These are symbolic links. Here they are files that contain their targets:'],
    [submodules, 'These are submodules, whose files are not in the archive:'],
  ];
  return parts
    .filter(([paths]) => paths.length > 0)
    .map(([paths, text]) => {
      const named = paths.slice(0, MAX_NAMED).map((path) => `  ${JSON.stringify(path)}`);
      const more = paths.length - named.length;
      return [text, ...named, ...(more > 0 ? [`  and ${more} more`] : []), ''].join('\n');
    })
    .join('\n');
}

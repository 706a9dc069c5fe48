import { createHash } from 'node:crypto';
import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { bundledName } from '../../archives/base/manifest.ts';
import { readChunks } from '../../files.ts';
import { type Git, GitError, isGitFailure } from '../../git/git.ts';
import { type Mirror, readHeader, readPack } from '../mirror/mirror.ts';
import { type Refs, sameRefs } from '../mirror/refs.ts';

const READ_TIMEOUT_MS = 12 * 60 * 60_000;

/** The contents of a bundle's header. */
export interface BundleContents {
  /** The refs of the source under their own names, including HEAD. */
  refs: Refs;
  headBranch: string | null;
  /** Refs that keep what the source has overwritten or deleted, under their names in the archive. */
  kept: Refs;
}

/** Writes a bundle of everything that the mirror has. Throws GitError. */
export async function writeFullBundle(
  git: Git,
  mirror: Mirror,
  path: string,
  contents: BundleContents,
  {
    timeoutMs,
    mayCopy,
  }: {
    /** Milliseconds that packing may take. */
    timeoutMs(): Promise<number>;
    /** Whether a pack may be copied as it is, without git reading its objects. */
    mayCopy: boolean;
  },
): Promise<void> {
  const pack = mayCopy ? await findOnlyPack(mirror) : null;
  const handle = await open(path, 'wx', 0o600);
  try {
    await handle.writeFile(formatHeader(mirror, contents, []));
    if (pack !== null) await copyPack(mirror, pack, handle);
    else {
      const args = [...packObjects(mirror), '--all'];
      await git.write(args, handle, { stdin: '', timeoutMs: await timeoutMs() });
    }
  } finally {
    await handle.close();
  }
  await checkHeader(path, contents);
  if (pack === null) await provePack(git, mirror, path);
}

/**
 * Writes a bundle of what is new since a bundle with the objects `before`. Returns the commits of the earlier
 * bundle that it needs. Throws GitError.
 */
export async function writeIncrement(
  git: Git,
  mirror: Mirror,
  path: string,
  { before, ...contents }: BundleContents & { before: ReadonlySet<string> },
  timeoutMs: number,
): Promise<string[]> {
  const fresh = [...contents.refs.values(), ...contents.kept.values()].filter(
    (id) => !before.has(id),
  );
  const prerequisites = await findBoundary(git, mirror, fresh, before, timeoutMs);
  const handle = await open(path, 'wx', 0o600);
  try {
    await handle.writeFile(formatHeader(mirror, contents, prerequisites));
    const stdin = `${[...new Set(fresh), '--not', ...before].join('\n')}\n`;
    await git.write(packObjects(mirror), handle, { stdin, timeoutMs });
  } finally {
    await handle.close();
  }
  await checkHeader(path, contents);
  await provePack(git, mirror, path);
  return prerequisites;
}

/** The size, as packed in the mirror, of the objects that `refs` reach and those of `before` do not. Throws GitError. */
export async function measureNew(
  git: Git,
  { gitDir }: Mirror,
  refs: Refs,
  before: ReadonlySet<string>,
  timeoutMs: number,
): Promise<number> {
  const fresh = new Set([...refs.values()].filter((id) => !before.has(id)));
  if (fresh.size === 0) return 0;
  // A mirror that was made anew may lack what the source has overwritten.
  const options = ['--objects', '--disk-usage', '--ignore-missing', '--stdin'];
  const stdin = `${[...fresh, ...[...before].map((id) => `^${id}`)].join('\n')}\n`;
  const answer = await git.read([`--git-dir=${gitDir}`, 'rev-list', ...options], {
    stdin,
    timeoutMs,
  });
  return Number.parseInt(answer, 10);
}

/**
 * Reads every object of a bundle that git has packed, without writing any. git copies packed objects to its output
 * unchecked, so damage in the mirror would end up in the archive. Throws GitError.
 */
async function provePack(git: Git, { gitDir }: Mirror, path: string): Promise<void> {
  try {
    await readPack(path, (fd) =>
      git.read([`--git-dir=${gitDir}`, 'unpack-objects', '-n', '-q'], {
        stdin: { fd },
        timeoutMs: READ_TIMEOUT_MS,
      }),
    );
  } catch (error) {
    if (!isGitFailure(error)) throw error;
    throw new GitError(
      `the mirror ${gitDir} is damaged, and nothing is written from it (${error.message})`,
    );
  }
}

function packObjects({ gitDir }: Mirror): string[] {
  return [
    `--git-dir=${gitDir}`,
    'pack-objects',
    '--quiet',
    '--stdout',
    '--revs',
    '--delta-base-offset',
  ];
}

/** The commits at which the history of `fresh` meets that of `before`. */
async function findBoundary(
  git: Git,
  { gitDir }: Mirror,
  fresh: readonly string[],
  before: ReadonlySet<string>,
  timeoutMs: number,
): Promise<string[]> {
  if (fresh.length === 0) return [];
  const stdin = [...new Set(fresh), ...[...before].map((id) => `^${id}`)].map((id) => `${id}\n`);
  const args = [`--git-dir=${gitDir}`, 'rev-list', '--boundary', '--stdin'];
  const boundary: string[] = [];
  for await (const line of git.stream(args, '\n', { stdin: stdin.join(''), timeoutMs })) {
    if (line.startsWith('-')) boundary.push(line.slice(1));
  }
  return boundary;
}

function formatHeader(
  { objectFormat }: Mirror,
  contents: BundleContents,
  prerequisites: readonly string[],
): string {
  const signature =
    objectFormat === 'sha1' ? ['# v2 git bundle'] : ['# v3 git bundle', '@object-format=sha256'];
  return [
    ...signature,
    ...prerequisites.map((id) => `-${id} `),
    ...[...orderRefs(contents)].map(([name, id]) => `${id} ${name}`),
    '',
    '',
  ].join('\n');
}

/** A bundle does not record HEAD's branch: `git clone` takes the last one at HEAD's commit. */
function orderRefs({ refs, headBranch, kept }: BundleContents): Map<string, string> {
  const ordered = new Map<string, string>();
  const last = headBranch === null ? ['HEAD'] : [headBranch, 'HEAD'];
  for (const name of [...refs.keys()].sort()) {
    if (!last.includes(name)) ordered.set(bundledName(name), refs.get(name) ?? '');
  }
  for (const [name, id] of kept) ordered.set(name, id);
  for (const name of last) {
    const id = refs.get(name);
    if (id !== undefined) ordered.set(name, id);
  }
  return ordered;
}

async function checkHeader(path: string, contents: BundleContents): Promise<void> {
  const { refs } = await readHeader(path);
  const found = new Map(refs.map(({ name, id }) => [name, id]));
  if (!sameRefs(found, orderRefs(contents))) {
    throw new GitError('the archive that was written does not contain all refs of the source');
  }
}

/** The mirror's pack if it holds all objects, else null. */
async function findOnlyPack({ gitDir }: Mirror): Promise<string | null> {
  const objects = await readdir(join(gitDir, 'objects'));
  if (objects.some((name) => /^[0-9a-f]{2}$/.test(name))) return null;
  const packs = (await readdir(join(gitDir, 'objects', 'pack'))).filter((name) =>
    name.endsWith('.pack'),
  );
  const [only] = packs;
  return only === undefined || packs.length > 1 ? null : join(gitDir, 'objects', 'pack', only);
}

/** Appends a pack as it is, which is much faster than packing again. Its own checksum must match. */
async function copyPack({ objectFormat }: Mirror, pack: string, to: FileHandle): Promise<void> {
  const trailer = objectFormat === 'sha1' ? 20 : 32;
  const { size } = await stat(pack);
  const hash = createHash(objectFormat);
  let position = 0;
  let end = Buffer.alloc(0);
  for await (const chunk of readChunks(pack)) {
    const hashed = Math.max(0, Math.min(chunk.length, size - trailer - position));
    hash.update(chunk.subarray(0, hashed));
    end = Buffer.concat([end, chunk.subarray(hashed)]);
    position += chunk.length;
    await to.writeFile(chunk);
  }
  const computed = hash.digest();
  if (position !== size || !computed.equals(end)) {
    throw new GitError(`the pack ${pack} of the mirror does not match its checksum`);
  }
}

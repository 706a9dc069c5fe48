import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Git, GitError, isGitFailure } from '../../git/git.ts';
import type { GitCredential } from '../../git/git-credential.ts';
import { makeScratch, removeScratch } from '../../processes/scratch.ts';
import { cleanText } from '../../text/clean-text.ts';
import type { Source } from '../base/source.ts';

/** Object ids by ref name, including `HEAD` if it has a commit. */
export type Refs = ReadonlyMap<string, string>;

/** The current refs of a repository. */
export interface RemoteRefs {
  refs: Refs;
  /** The branch of HEAD, which may not exist; null if there is none or the server does not report it. */
  headBranch: string | null;
}

/** Options for reading a source. Version 0 of git's protocol lists all refs in one request; version 2 needs two. */
export const firstProtocol = ['-c', 'protocol.version=0'];

const LIST_TIMEOUT_MS = 5 * 60_000;

interface ReadOptions {
  git: Git;
  source: Source;
  /** For a temporary folder. */
  mirrorFolder: string;
}

/** Reads the refs of a repository, without peeled tags. Throws GitError. */
export async function readRemoteRefs(
  read: ReadOptions,
  credential: GitCredential | null,
): Promise<RemoteRefs> {
  const { git, source } = read;
  const options = { protocols: source.protocols, timeoutMs: LIST_TIMEOUT_MS, credential };
  const refs = new Map<string, string>();
  let headBranch: string | null = null;
  const lines = git.stream(
    [...firstProtocol, 'ls-remote', '--symref', '--', source.location],
    '\n',
    options,
  );
  for await (const line of lines) {
    const [value = '', name = ''] = line.split('\t');
    checkName(name);
    if (!value.startsWith('ref: ')) {
      if (!name.endsWith('^{}')) refs.set(name, value);
    } else if (name === 'HEAD' && value.startsWith('ref: refs/heads/')) {
      // HEAD on a tag or another ref counts as detached, as in a clone.
      headBranch = value.slice('ref: '.length);
    }
  }
  if (refs.size > 0 && !refs.has('HEAD')) headBranch = await readUnbornBranch(read, credential);
  return { refs, headBranch };
}

/** Where a clone's HEAD is if the server did not report a branch. */
const NOT_REPORTED = 'backup-observatory-not-reported';

/**
 * The branch of a HEAD that points to a branch which does not exist, in a repository with other refs. Only a clone with
 * version 2 of git's protocol is told it; restricted to that branch, it transfers nothing. Null if the server does not
 * report it.
 */
async function readUnbornBranch(
  { git, source, mirrorFolder: folder }: ReadOptions,
  credential: GitCredential | null,
): Promise<string | null> {
  const { location, protocols } = source;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const scratch = await makeScratch(folder);
  try {
    const clone = join(scratch, 'head.git');
    const settings = ['protocol.version=2', `init.defaultBranch=${NOT_REPORTED}`];
    const flags = ['--quiet', '--bare', '--no-local', '--single-branch', '--no-tags'];
    await git.read(
      [
        ...settings.flatMap((setting) => ['-c', setting]),
        ...['clone', ...flags, '--template=', '--', location, clone],
      ],
      { protocols, timeoutMs: LIST_TIMEOUT_MS, credential },
    );
    const head = (await readFile(join(clone, 'HEAD'), 'utf8')).trimEnd();
    const branch = head.startsWith('ref: refs/heads/') ? head.slice('ref: '.length) : null;
    return branch === `refs/heads/${NOT_REPORTED}` ? null : branch;
  } catch (error) {
    // A server that cannot be asked does not report it. The refs were read, and are archived without it.
    if (isGitFailure(error)) return null;
    throw error;
  } finally {
    await removeScratch(scratch);
  }
}

/** Throws GitError for a name that was not UTF-8: it would be recorded under another name. */
export function checkName(name: string): void {
  if (!name.includes('\uFFFD')) return;
  throw new GitError(`the name of a ref is not UTF-8 and cannot be recorded: ${cleanText(name)}`);
}

/** The refs of a clone in `gitDir`. Throws GitError. */
export async function readCloneRefs(git: Git, gitDir: string): Promise<Refs> {
  // `show-ref` fails if there are no refs, but a cloned repository has some.
  return parseRefs(await git.read([`--git-dir=${gitDir}`, 'show-ref', '--head']));
}

/** Whether both have the same refs at the same objects. */
export function sameRefs(some: Refs, others: Refs): boolean {
  return some.size === others.size && [...some].every(([name, id]) => others.get(name) === id);
}

/**
 * The names of refs in a mirror that are neither as the source advertised them before the fetch nor as it did
 * afterwards. A ref that moves meanwhile is one of both.
 */
export function findMissed(mirrored: Refs, before: Refs, after: Refs): string[] {
  const names = new Set([...mirrored.keys(), ...before.keys(), ...after.keys()]);
  return [...names].filter((name) => {
    const id = mirrored.get(name);
    return id !== before.get(name) && id !== after.get(name);
  });
}

function parseRefs(text: string): Refs {
  const lines = text.split('\n').filter((line) => line !== '');
  for (const line of lines) checkName(line);
  return new Map(
    lines.map((line) => [line.slice(line.indexOf(' ') + 1), line.slice(0, line.indexOf(' '))]),
  );
}

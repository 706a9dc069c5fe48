import { type Git, GitError } from '../../git/git.ts';
import type { GitCredential } from '../../git/git-credential.ts';
import { cleanText } from '../../text/clean-text.ts';
import type { Source } from '../source.ts';

/** Object ids by ref name, including `HEAD` if it has a commit. */
export type Refs = ReadonlyMap<string, string>;

/** The current refs of a repository. */
export interface RemoteRefs {
  refs: Refs;
  /** The branch of HEAD; null if there is none or the server does not report it. */
  headBranch: string | null;
}

/** Options for reading a source. Version 0 of git's protocol lists all refs in one request; version 2 needs two. */
export const firstProtocol = ['-c', 'protocol.version=0'];

const LIST_TIMEOUT_MS = 5 * 60_000;

/** Reads the refs of a repository, without peeled tags. Throws GitError. */
export async function readRemoteRefs(
  git: Git,
  source: Source,
  credential: GitCredential | null,
): Promise<RemoteRefs> {
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
  return { refs, headBranch };
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

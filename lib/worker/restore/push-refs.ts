import { type Git, GitError, type GitOptions, isGitFailure } from '../../git/git.ts';
import { listRefs } from '../../git/list-refs.ts';
import { cleanText } from '../../text/clean-text.ts';
import type { Source } from '../base/source.ts';

/** Refs that people create. All others, such as refs/pull/…, belong to the host, which refuses them. */
const pushed = /^refs\/(?:heads|tags|notes)\//;
const MAX_REFS = 500_000;
const PUSH_TIMEOUT_MS = 12 * 60 * 60_000;

/** The refs of a repository on a git host. */
export interface DestinationRefs {
  /** Object ids by ref name: branches, tags and notes. */
  refs: ReadonlyMap<string, string>;
  /** The branch of HEAD; null if the host does not report it. */
  headBranch: string | null;
}

/** The refs of a restored repository. */
export interface PushedRefs {
  /** Object ids by ref name: branches, tags and notes. */
  wanted: ReadonlyMap<string, string>;
  /** The names of all other refs. */
  others: readonly string[];
}

/** A repository on a git host. Its methods throw GitError. */
export interface Remote {
  list(): Promise<DestinationRefs>;
  /**
   * Pushes branches, tags and notes, starting with the branch of HEAD. Deletes nothing. Returns which refs were
   * refused.
   */
  push(
    gitDir: string,
    own: PushedRefs,
    headBranch: string | null,
    mayReplace: boolean,
  ): Promise<string[]>;
}

/** The refs of a local repository. */
export async function readOwnRefs(git: Git, gitDir: string): Promise<PushedRefs> {
  const all = [...(await listRefs(git, gitDir))];
  const wanted = new Map(all.filter(([name]) => pushed.test(name)));
  return { wanted, others: all.flatMap(([name]) => (wanted.has(name) ? [] : [name])) };
}

/** Uses git's own credentials: its credential helpers, or the ssh agent. */
export function openRemote(git: Git, { location, protocols, isLocal }: Source): Remote {
  const options: GitOptions = { protocols, timeoutMs: PUSH_TIMEOUT_MS };

  async function list(): Promise<DestinationRefs> {
    const refs = new Map<string, string>();
    let headBranch: string | null = null;
    const args = ['ls-remote', '--symref', '--', location];
    for await (const line of git.stream(args, '\n', options)) {
      const [what = '', name = ''] = line.split('\t');
      if (name === 'HEAD' && what.startsWith('ref: ')) headBranch = what.slice('ref: '.length);
      if (!pushed.test(name) || name.endsWith('^{}')) continue;
      refs.set(name, what);
      if (refs.size > MAX_REFS) throw new GitError(`it has more than ${MAX_REFS} refs`, 'output');
    }
    return { refs, headBranch };
  }

  async function push(
    gitDir: string,
    { wanted }: PushedRefs,
    headBranch: string | null,
    mayReplace: boolean,
  ): Promise<string[]> {
    const force = mayReplace ? '+' : '';
    const faults: string[] = [];
    const send = async (refspecs: readonly string[]) => {
      const args = [`--git-dir=${gitDir}`, '-c', 'push.followTags=false', 'push', '--quiet'];
      try {
        // Run no hook of this machine.
        await git.read([...args, '--no-verify', '--', location, ...refspecs], options);
      } catch (error) {
        if (!isGitFailure(error)) throw error;
        faults.push(cleanText(error.message));
      }
    };
    // A new repository makes the first branch that it receives its default branch.
    if (headBranch !== null && wanted.has(headBranch)) {
      await send([`${force}${headBranch}:${headBranch}`]);
    }
    if (headBranch !== null && isLocal) await setHead(headBranch);
    const kinds = ['heads', 'tags', 'notes'].filter((kind) =>
      [...wanted.keys()].some((name) => name.startsWith(`refs/${kind}/`)),
    );
    await send(kinds.map((kind) => `${force}refs/${kind}/*:refs/${kind}/*`));
    return faults;
  }

  /** Over the network, only the host can set it. A repository with a work tree keeps its own. */
  async function setHead(branch: string): Promise<void> {
    const answer = await git.read(['-C', location, 'rev-parse', '--is-bare-repository']);
    if (answer.trim() !== 'true') return;
    await git.read(['-C', location, 'symbolic-ref', 'HEAD', branch]);
  }

  return { list, push };
}

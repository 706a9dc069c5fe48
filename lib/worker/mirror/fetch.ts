import { GitError, type GitOptions } from '../../git/git.ts';
import type { GitCredential } from '../../git/git-credential.ts';
import { type Progress, readProgress } from '../../git/progress.ts';
import { cleanText } from '../../text/clean-text.ts';
import type { Source } from '../base/source.ts';
import { incompleteSource } from './incomplete-source.ts';

const FETCH_TIMEOUT_MS = 12 * 60 * 60_000;
const MAX_DEFECT_LENGTH = 200;
const shallowSource =
  /shallow update not allowed|source repository is shallow|shallow roots are not allowed/;

/** The source said this, not our own git: a store in a git repository is a partial clone on purpose. */
const partialSource = /remote: .{0,300}(?:promisor remote|lazy fetching disabled)/;
const graftedSource = /info\/grafts is deprecated.*|did not receive expected object.*info\/grafts/;
const missingTarget = /upload-pack: not our ref ([0-9a-f]{40,64})/;

interface FetchOptions {
  source: Source;
  /** Called for each transfer. */
  credential(): Promise<GitCredential | null>;
  /** Called with git's own progress. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** Transfers everything that a source has. Throws GitError. */
type Transfer<Result> = (
  from: { location: string; isChecked: boolean },
  options: GitOptions,
) => Promise<Result>;

/**
 * Transfers everything from a source and checks every object. A source whose old objects have defects is transferred
 * all the same. Returns what git found, or null if there was nothing. Throws GitError.
 */
export async function transferChecked<Result>(
  options: FetchOptions,
  transfer: Transfer<Result>,
): Promise<{ result: Result; defect: string | null }> {
  try {
    return { result: await transferOnce(options, transfer, true), defect: null };
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    const defect = findDefect(error.message);
    if (defect === null) throw explainTransfer(error, options.source);
    return { result: await transferOnce(options, transfer, false), defect };
  }
}

async function transferOnce<Result>(
  { source, credential, onProgress }: FetchOptions,
  transfer: Transfer<Result>,
  isChecked: boolean,
): Promise<Result> {
  const { location, protocols } = source;
  return transfer(
    { location, isChecked },
    {
      protocols,
      timeoutMs: FETCH_TIMEOUT_MS,
      credential: await credential(),
      ...(onProgress ? { onProgress: readProgress(onProgress) } : {}),
    },
  );
}

/** The defect that `transfer.fsckObjects` reports; null if the transfer failed for another reason. */
function findDefect(message: string): string | null {
  const [, defect] = /object ([0-9a-f]{40,64}: [\w-]+: [^\n]*)/.exec(message) ?? [];
  if (defect !== undefined) return cleanText(defect, MAX_DEFECT_LENGTH);
  return /fsck error in (?:packed|pack) objects?/.test(message) ? 'an object has a defect' : null;
}

/** Replaces git's messages about a source that need advice. */
export function explainTransfer(error: GitError, { isLocal, location }: Source): GitError {
  // `git clone` says this of a folder that exists but is not a repository.
  if (isLocal && error.message === `fatal: repository '${location}' does not exist`) {
    return new GitError(`${location} does not appear to be a git repository`);
  }
  const { message } = error;
  if (shallowSource.test(message)) {
    return new GitError(incompleteSource.shallow);
  }
  if (partialSource.test(message)) {
    return new GitError(incompleteSource.partial);
  }
  if (graftedSource.test(message)) {
    return new GitError(incompleteSource.grafted);
  }
  const [, id] = missingTarget.exec(message) ?? [];
  if (id === undefined) return error;
  // A file that holds no object id is read as this one.
  const target = /^0+$/.test(id) ? 'no object' : `an object that it lacks, ${id}`;
  return new GitError(
    `a ref of the repository points to ${target}; \`git fsck\` and \`git for-each-ref\` in it name the ref, which can be deleted or fetched again`,
  );
}

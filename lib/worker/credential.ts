import { AppError } from '../platform/errors.ts';
import { GitError } from '../platform/git.ts';
import type { GitCredential } from '../platform/git-credential.ts';
import { RunStopped } from './stop.ts';

/**
 * A token for one address, asked for anew for each use: tokens expire, and a run may last longer. Null
 * where there is none. Throws GitError when it could not be had this time, RunStopped when one has to
 * log in again or the login cannot be read: nothing else would go better then.
 */
export async function readCredential(
  location: string,
  readToken: () => Promise<string | null>,
): Promise<GitCredential | null> {
  try {
    const token = await readToken();
    return token === null ? null : { location, token };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (error.code === 'SERVICE_UNAVAILABLE') throw new GitError(error.message);
    const exitCode = error.code === 'UNAUTHORIZED' ? 4 : 1;
    throw new RunStopped(error.message, { cause: error, exitCode });
  }
}

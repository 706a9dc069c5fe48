import type { Environment } from '../platform/config/read.ts';
import { AppError } from '../platform/errors.ts';
import { createGit, GitError } from '../platform/git.ts';

/** The first with `clone --reject-shallow`. */
const OLDEST_GIT = [2, 32] as const;

/** Throws SERVICE_UNAVAILABLE with one line when git is missing or too old. */
export async function checkGit(environment: Environment, signal: AbortSignal): Promise<void> {
  const said = await readVersion(environment, signal);
  const [, major = 0, minor = 0] = /(\d+)\.(\d+)/.exec(said)?.map(Number) ?? [];
  const [oldestMajor, oldestMinor] = OLDEST_GIT;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return;
  throw new AppError(
    'SERVICE_UNAVAILABLE',
    `git ${OLDEST_GIT.join('.')} or newer is needed, found ${said.trim()}`,
  );
}

async function readVersion(environment: Environment, signal: AbortSignal): Promise<string> {
  try {
    return await createGit(environment, signal).read(['--version']);
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    throw new AppError('SERVICE_UNAVAILABLE', error.message);
  }
}

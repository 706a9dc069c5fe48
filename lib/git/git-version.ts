import type { Environment } from '../config/read.ts';
import { AppError } from '../errors.ts';
import { createGit, GitError } from './git.ts';

/** Older versions may execute code from a cloned repository (CVE-2024-32002 and similar). */
const MIN_GIT_VERSION = [2, 39, 4] as const;

/** Generous, for slow disks. */
const TIMEOUT_MS = 30_000;

/** The advice when git is missing or too old. */
export const installGit = `install git ${MIN_GIT_VERSION.join('.')} or newer`;

/**
 * Returns the version of git. Throws SERVICE_UNAVAILABLE with advice when git is missing or too old.
 */
export async function checkGit(environment: Environment, signal: AbortSignal): Promise<string> {
  const output = (await readVersion(environment, signal)).trim();
  const version = parseGitVersion(output);
  const shown = output.slice(0, 100);
  if (version === null)
    throw unusable(`\`git --version\` printed no version: ${JSON.stringify(shown)}`);
  if (isOlder(version, MIN_GIT_VERSION)) throw unusable(`found ${shown}, which is too old`);
  return version.join('.');
}

/**
 * Parses major, minor and patch from the output of `git --version`, ignoring vendor suffixes as in
 * `2.39.5 (Apple Git-154)` and `2.45.1.windows.1`. Null when there is no version.
 */
export function parseGitVersion(output: string): readonly [number, number, number] | null {
  const [, major, minor, patch = 0] = /\b(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?/.exec(output) ?? [];
  return major === undefined ? null : [Number(major), Number(minor), Number(patch)];
}

function isOlder(version: readonly number[], than: readonly number[]): boolean {
  const index = version.findIndex((part, at) => part !== than[at]);
  return index >= 0 && (version[index] ?? 0) < (than[index] ?? 0);
}

async function readVersion(environment: Environment, signal: AbortSignal): Promise<string> {
  try {
    return await createGit(environment, signal, { timeoutMs: TIMEOUT_MS }).read(['--version']);
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    throw unusable(error.message);
  }
}

function unusable(reason: string): AppError {
  return new AppError('SERVICE_UNAVAILABLE', `${reason}: ${installGit}`);
}

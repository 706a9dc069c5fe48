import { AppError } from '../../../errors.ts';
import { GitError } from '../../../git/git.ts';
import type { GitCredential } from '../../../git/git-credential.ts';
import type { HostAccess } from '../../logins/host-access.ts';
import { loginCommand } from '../../logins/messages.ts';
import { isOn, type PushTarget } from './target.ts';

/**
 * The destination login, if the target is on its host. No other host may see it. If it cannot be read, only the push
 * fails, not the backup. Throws GitError.
 */
export async function destinationCredential(
  target: PushTarget,
  { connection, logins }: Pick<HostAccess, 'connection' | 'logins'>,
): Promise<GitCredential | null> {
  const { location, kind } = target;
  if (kind !== 'https' || !isOn(target, connection.hostUrl)) return null;
  try {
    const token = await logins.read('github:destination');
    return token === null ? null : { location, token };
  } catch (error) {
    throw error instanceof AppError ? new GitError(error.message) : error;
  }
}

/** git's message, preceded by advice if it is about a missing or rejected login, which does not help by itself. */
export async function explainRefusal(
  { message }: GitError,
  target: PushTarget,
  access: Pick<HostAccess, 'connection' | 'store'>,
): Promise<string> {
  if (!/could not read Username|Authentication failed/.test(message)) return message;
  return `${await adviseOnLogin(target, access)}; git said: ${message}`;
}

async function adviseOnLogin(
  target: PushTarget,
  { connection: { hostUrl }, store }: Pick<HostAccess, 'connection' | 'store'>,
): Promise<string> {
  if (!isOn(target, hostUrl)) {
    const { hostname } = new URL(hostUrl);
    return `git needs its own credentials there: the destination login is only for ${hostname}`;
  }
  const login = await store.find('github:destination');
  const command = loginCommand('github:destination');
  return login === null
    ? `there is no destination login, and git has no credentials of its own (${command})`
    : `the git host does not accept the destination login (log in again: ${command})`;
}

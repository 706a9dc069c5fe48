import { AppError } from '../../errors.ts';
import { KeychainError } from '../base/keychain.ts';
import { appFilePath, removeApp } from './app-file.ts';
import { type LoginName, loginNames } from './login.ts';
import type { LoginCommand } from './login-commands.ts';
import { describeLogin } from './messages.ts';
import type { LoginSession } from './session.ts';

/**
 * `logout`: removes logins from this machine. Returns the exit code. If a secret cannot be removed, its login
 * is kept, and CREDENTIAL_STORAGE_UNAVAILABLE is thrown after the others were removed.
 */
export async function logOut(
  session: LoginSession,
  { login }: Extract<LoginCommand, { name: 'logout' }>,
): Promise<number> {
  const { person, store, folder } = session;
  const removed: boolean[] = [];
  const problems: string[] = [];
  for (const name of login === 'all' ? loginNames : [login]) {
    const outcome = await remove(session, name);
    if (typeof outcome === 'string') problems.push(outcome);
    else removed.push(outcome);
  }
  if (login === 'all' && (await removeApp(folder, person.say))) {
    removed.push(true);
    person.print(`Removed ${appFilePath(folder)}.`);
  }
  if (problems.length > 0) {
    throw new AppError('CREDENTIAL_STORAGE_UNAVAILABLE', problems.join('; '));
  }
  if (!removed.includes(true)) {
    person.print(login === 'all' ? 'There was no login.' : `There was no ${describeLogin(login)}.`);
  } else {
    person.say('This does not revoke tokens: do that in the settings of the service.');
  }
  if (login === 'github:source' && (await store.find('github:destination')) !== null) {
    person.say('The destination login remains: logout github --profile destination removes it.');
  }
  return 0;
}

/** False if there was none; an error message if the keychain failed. */
async function remove({ person, store }: LoginSession, name: LoginName): Promise<boolean | string> {
  try {
    const existed = await store.remove(name);
    if (existed) person.print(`Removed the ${describeLogin(name)}.`);
    return existed;
  } catch (error) {
    if (!(error instanceof KeychainError)) throw error;
    return `the ${describeLogin(name)} was kept: the keychain could not be changed (${error.message})`;
  }
}

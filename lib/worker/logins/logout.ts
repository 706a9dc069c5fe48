import { AppError } from '../../platform/errors.ts';
import { appFilePath, removeApp } from './app-file.ts';
import type { LoginCommand } from './arguments.ts';
import { KeychainError } from './keychain.ts';
import { type LoginName, loginNames } from './login.ts';
import { describeLogin } from './messages.ts';
import type { LoginSession } from './session.ts';

/**
 * `logout`: removes logins from this machine. Returns the exit code; throws
 * CREDENTIAL_STORAGE_UNAVAILABLE when a secret could not be removed, whose login then stays.
 */
export async function logOut(
  session: LoginSession,
  { login }: Extract<LoginCommand, { name: 'logout' }>,
): Promise<number> {
  const { person, store, folder } = session;
  const removed: boolean[] = [];
  for (const name of login === 'all' ? loginNames : [login])
    removed.push(await remove(session, name));
  if (login === 'all' && (await removeApp(folder))) {
    removed.push(true);
    person.print(`Removed ${appFilePath(folder)}.`);
  }
  if (!removed.includes(true)) {
    person.print(login === 'all' ? 'There was no login.' : `There was no ${describeLogin(login)}.`);
  } else {
    person.say('Tokens are not revoked by this: do that in the settings of the service.');
  }
  if (login === 'github:source' && (await store.find('github:destination')) !== null) {
    person.say('The destination login remains: logout github --profile destination removes it.');
  }
  return 0;
}

async function remove({ person, store }: LoginSession, name: LoginName): Promise<boolean> {
  try {
    const wasThere = await store.remove(name);
    if (wasThere) person.print(`Removed the ${describeLogin(name)}.`);
    return wasThere;
  } catch (error) {
    if (!(error instanceof KeychainError)) throw error;
    throw new AppError(
      'CREDENTIAL_STORAGE_UNAVAILABLE',
      `the ${describeLogin(name)} stays: the keychain could not be changed (${error.message})`,
    );
  }
}

import { AppError } from '../../errors.ts';
import { type Keychain, KeychainError } from '../base/keychain.ts';
import {
  type CredentialsFile,
  type HeldCredentials,
  openCredentialsFile,
} from './credentials-file.ts';
import {
  type LoginName,
  type LoginSecrets,
  type Logins,
  loginSecrets,
  type NewLogin,
  type StoredLogin,
  type StoreName,
} from './login.ts';
import type { Notify } from './private-file.ts';

/** Stores logins in the keychain or in credentials.json, which lists all of them. */
export interface LoginStore {
  /** Path of credentials.json. */
  readonly path: string;
  /** Every stored login; does not read the keychain. */
  list(): Promise<Logins>;
  find(name: LoginName): Promise<StoredLogin | null>;
  /** The secrets of a login that was found. Throws KeychainError. */
  secretsOf(name: LoginName, login: StoredLogin): Promise<LoginSecrets>;
  /** Throws if nothing could be stored. Call it before requesting something that would be lost. */
  rehearse(): Promise<void>;
  /**
   * Stores a login in the first store that works, and notifies the user if it is not the first choice. Throws
   * CREDENTIAL_STORAGE_UNAVAILABLE if none does.
   */
  save(name: LoginName, login: NewLogin, stores: readonly StoreName[]): Promise<StoreName>;
  /** Removes a login and its secrets; false if there was none. Keeps it if this throws KeychainError. */
  remove(name: LoginName): Promise<boolean>;
  /** Runs `work` while no other process changes a login. */
  locked<Value>(
    work: (held: Pick<LoginStore, 'find' | 'save' | 'rehearse'>) => Promise<Value>,
  ): Promise<Value>;
}

interface LoginStoreOptions {
  /** The configuration folder. */
  folder: string;
  keychain: Keychain;
  notify: Notify;
}

/** The stores to try, in order. */
export function storesFor(choice: 'auto' | 'file'): StoreName[] {
  return choice === 'file' ? ['file'] : ['keychain', 'file'];
}

/** Name of a login's keychain entry. All configuration folders of a user share one keychain. */
export function keychainEntry(name: LoginName, folder: string): string {
  return `${name} ${folder}`;
}

/** Opens the store of a configuration folder. Nothing is created or read yet. */
export function openLoginStore({ folder, keychain, notify }: LoginStoreOptions): LoginStore {
  const file: CredentialsFile = openCredentialsFile(folder, notify);
  const entryOf = (name: LoginName) => keychainEntry(name, folder);

  async function put(
    held: HeldCredentials,
    name: LoginName,
    { facts, secrets }: NewLogin,
    store: StoreName,
  ): Promise<void> {
    if (store === 'keychain') {
      const value = JSON.stringify(secrets);
      await keychain.write(entryOf(name), value);
      if ((await keychain.read(entryOf(name))) !== value) {
        throw new KeychainError('it does not return what was stored');
      }
    }
    const login = store === 'keychain' ? { ...facts, store } : { ...facts, store, ...secrets };
    await held.write({ ...(await held.read()), [name]: login });
  }

  async function save(
    held: HeldCredentials,
    name: LoginName,
    login: NewLogin,
    stores: readonly StoreName[],
  ): Promise<StoreName> {
    const before = (await held.read())[name];
    const problems: string[] = [];
    for (const store of stores) {
      try {
        await put(held, name, login, store);
      } catch (error) {
        problems.push(`${describeStore(store, file.path)}: ${messageOfFault(error)}`);
        continue;
      }
      if (problems.length > 0) {
        const place = describeStore(store, file.path);
        notify(
          `The login is kept in ${place}, because it could not be stored in ${problems.join(' or ')}`,
        );
      }
      if (store === 'file' && before?.store === 'keychain') await forgetEntry(name);
      return store;
    }
    throw new AppError(
      'CREDENTIAL_STORAGE_UNAVAILABLE',
      `the login could not be stored in ${problems.join('; nor in ')}`,
    );
  }

  /** Removes an entry that is no longer referenced. */
  async function forgetEntry(name: LoginName): Promise<void> {
    try {
      await keychain.remove(entryOf(name));
    } catch (error) {
      notify(
        `warning: the keychain still has an old entry "${entryOf(name)}": ${messageOfFault(error)}`,
      );
    }
  }

  const find = async (name: LoginName) => (await file.read())[name] ?? null;
  return {
    path: file.path,
    list: file.read,
    find,
    async secretsOf(name, login) {
      if (login.store === 'file') return loginSecrets.parse(login);
      const value = await keychain.read(entryOf(name));
      if (value === null) throw new KeychainError('it has no entry for this login');
      return parseSecrets(value);
    },
    rehearse: () => file.locked((held) => held.rehearse()),
    save: (name, login, stores) => file.locked((held) => save(held, name, login, stores)),
    remove: (name) =>
      file.locked(async (held) => {
        const { [name]: login, ...rest } = await held.read();
        if (login === undefined) return false;
        if (login.store === 'keychain') await keychain.remove(entryOf(name));
        await held.write(rest);
        return true;
      }),
    locked: (work) =>
      file.locked((held) =>
        work({
          find: async (name) => (await held.read())[name] ?? null,
          save: (name, login, stores) => save(held, name, login, stores),
          rehearse: held.rehearse,
        }),
      ),
  };
}

export function describeStore(store: StoreName, path: string): string {
  return store === 'keychain' ? 'the keychain' : path;
}

function parseSecrets(value: string): LoginSecrets {
  try {
    return loginSecrets.parse(JSON.parse(value));
  } catch {
    // Without the parser's message, which may repeat a secret.
    throw new KeychainError('its entry for this login is not valid');
  }
}

function messageOfFault(error: unknown): string {
  if (error instanceof KeychainError || error instanceof AppError) return error.message;
  throw error;
}

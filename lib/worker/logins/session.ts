import type { Clock } from '../../clock.ts';
import { configFolder, type GitHostConfig } from '../../config/git-host.ts';
import type { Environment } from '../../config/read.ts';
import { connectGitHost, type GitHostConnection } from '../git-host/connection.ts';
import type { Keychain } from './keychain.ts';
import { type LoginStore, openLoginStore } from './login-store.ts';
import { type CommandIo, createPerson, type Desktop, type Person } from './person.ts';

export interface LoginSessionOptions {
  config: GitHostConfig;
  environment: Environment;
  clock: Clock;
  fetch: typeof fetch;
  keychain: Keychain;
  io: CommandIo;
  desktop: Desktop;
  /** Aborts when the process is told to end; in a session, also when the user cancels. */
  signal: AbortSignal;
}

/** The context of a login command. */
export interface LoginSession extends Omit<LoginSessionOptions, 'io' | 'desktop'> {
  person: Person;
  store: LoginStore;
  /** The configuration folder. */
  folder: string;
  connection: GitHostConnection;
}

/** Builds the context of one command. Nothing is read or sent yet. */
export function openLoginSession({ io, desktop, ...options }: LoginSessionOptions): LoginSession {
  const { config, environment, keychain } = options;
  const cancelled = new AbortController();
  const signal = AbortSignal.any([options.signal, cancelled.signal]);
  const cancel = (reason: unknown) => cancelled.abort(reason);
  const person = createPerson({ io, desktop, signal, cancel });
  const folder = configFolder(config, environment);
  return {
    ...options,
    person,
    folder,
    signal,
    store: openLoginStore({ folder, keychain, notify: person.say }),
    connection: connectGitHost(config, { ...options, signal }),
  };
}

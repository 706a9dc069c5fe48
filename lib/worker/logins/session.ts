import { configFolder, type GitHostConfig } from '../../config/git-host.ts';
import type { WorkerOptions } from '../base/command-context.ts';
import { createPerson, type Person } from '../base/person.ts';
import { connectGitHost, type GitHostConnection } from '../hosts/connection.ts';
import { type LoginStore, openLoginStore } from './login-store.ts';

type Shared = Pick<WorkerOptions, 'environment' | 'clock' | 'fetch' | 'keychain' | 'signal'> & {
  config: GitHostConfig;
};

type LoginSessionOptions = Shared & Pick<WorkerOptions, 'io' | 'desktop'>;

/** The context of a login command, whose signal also aborts when the user cancels. */
export interface LoginSession extends Shared {
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

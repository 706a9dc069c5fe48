import type { Clock } from '../../platform/clock.ts';
import { configFolder, type GitHostConfig } from '../../platform/config/git-host.ts';
import type { Environment } from '../../platform/config/read.ts';
import { connectGitHost, type GitHostConnection } from '../git-host/connection.ts';
import type { RunStopped } from '../stop.ts';
import type { Keychain } from './keychain.ts';
import { type LoginStore, openLoginStore } from './login-store.ts';
import { type CommandIo, createPerson, type Desktop, type Person } from './person.ts';

/** What a command of logins works with. */
export interface LoginSession {
  config: GitHostConfig;
  environment: Environment;
  clock: Clock;
  fetch: typeof fetch;
  person: Person;
  store: LoginStore;
  keychain: Keychain;
  /** The configuration folder. */
  folder: string;
  connection: GitHostConnection;
  /** Aborts when the process is told to end or the person cancels. */
  signal: AbortSignal;
}

export interface LoginSessionOptions {
  config: GitHostConfig;
  environment: Environment;
  clock: Clock;
  fetch: typeof fetch;
  io: CommandIo;
  desktop: Desktop;
  keychain: Keychain;
  signal: AbortSignal;
}

/** Puts the handles of one command together. Nothing is read or sent yet. */
export function openLoginSession(options: LoginSessionOptions): LoginSession {
  const { config, environment, clock, fetch, io, desktop, keychain } = options;
  const cancelled = new AbortController();
  const signal = AbortSignal.any([options.signal, cancelled.signal]);
  const cancel = (reason: RunStopped) => cancelled.abort(reason);
  const person = createPerson({ io, desktop, signal, cancel });
  const folder = configFolder(config, environment);
  return {
    config,
    environment,
    clock,
    fetch,
    person,
    keychain,
    folder,
    signal,
    store: openLoginStore({ folder, keychain, notify: person.say }),
    connection: connectGitHost(config, { fetch, clock, signal }),
  };
}

import type { GitHostConfig } from '../platform/config/git-host.ts';
import { connectGitHost, type GitHostConnection } from './git-host/connection.ts';
import type { LoginStore } from './logins/login-store.ts';
import { type LoginTokens, openLoginTokens } from './logins/token-source.ts';

/** What a run reaches the git host by. */
export interface HostAccess {
  config: GitHostConfig;
  store: LoginStore;
  connection: GitHostConnection;
  /** One for the run, so that discovery and destination renew a token together. */
  logins: LoginTokens;
  /** Shows a line, such as until when a rate limit is waited for. */
  notify(text: string): void;
}

/** Puts the handles of one run together. Nothing is read or sent yet. */
export function openHostAccess(
  { config, store }: Pick<HostAccess, 'config' | 'store'>,
  handles: Pick<GitHostConnection, 'fetch' | 'clock' | 'signal'>,
  notify: (text: string) => void,
): HostAccess {
  const connection = connectGitHost(config, handles);
  const logins = openLoginTokens({ config, store, connection });
  return { config, store, connection, logins, notify };
}

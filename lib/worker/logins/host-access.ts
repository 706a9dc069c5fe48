import type { GitHostConfig } from '../../config/git-host.ts';
import { connectGitHost, type GitHostConnection } from '../hosts/connection.ts';
import type { LoginStore } from './login-store.ts';
import { type LoginTokens, type NoteRenewable, openLoginTokens } from './token-source.ts';

/** What a run needs to access the git host. */
export interface HostAccess {
  config: GitHostConfig;
  store: LoginStore;
  connection: GitHostConnection;
  /** Shared, so that discovery and destination renew a token together. */
  logins: LoginTokens;
  /** Shows a line, for example about waiting for a rate limit. */
  notify(text: string): void;
}

/** Builds the access of one run. Nothing is read or sent yet. */
export function openHostAccess(
  {
    config,
    store,
    noteRenewable,
  }: Pick<HostAccess, 'config' | 'store'> & { noteRenewable?: NoteRenewable },
  deps: Pick<GitHostConnection, 'fetch' | 'clock' | 'signal'>,
  notify: (text: string) => void,
): HostAccess {
  const connection = connectGitHost(config, deps);
  const logins = openLoginTokens({ config, store, connection, noteRenewable });
  return { config, store, connection, logins, notify };
}

import type { GitHostConfig } from '../../config/git-host.ts';
import { AppError } from '../../errors.ts';
import type { SourceUse } from '../base/source.ts';
import type { GitHostConnection } from '../hosts/connection.ts';
import type { LoginName, StoredLogin } from './login.ts';
import type { LoginStore } from './login-store.ts';
import { logInAgain, loginCommand } from './messages.ts';
import { isExpiring, readValidToken, type ValidToken, whyNotFor } from './refresh.ts';

/** The tokens of a run. Request one for each use, because a run may last longer than a token. */
export interface TokenSource {
  /** Where source tokens come from: the stored login, else the environment. */
  readonly origin: 'login' | 'environment';
  /** How repositories are found: `auto` needs the login of an app. */
  readonly discovery: 'auto' | 'accounts';
  /**
   * A valid token. Throws UNAUTHORIZED if the user must log in again, and CREDENTIAL_STORAGE_UNAVAILABLE if
   * the login cannot be read, instead of falling back to a token of the environment.
   */
  source(use: SourceUse): Promise<string>;
}

/** Called before a token is used that its login can renew, with the time until which it can. */
export type NoteRenewable = (name: LoginName, token: string, until: string) => void;

interface TokenSourceOptions {
  config: GitHostConfig;
  store: LoginStore;
  connection: GitHostConnection;
  noteRenewable?: NoteRenewable | undefined;
}

/** Reads valid tokens of stored logins; null if the login is not stored. */
export interface LoginTokens {
  read(name: LoginName): Promise<string | null>;
  /** Reads the token of a login that was found earlier. */
  tokenOf(name: LoginName, stored: StoredLogin): Promise<string>;
}

/** Opens the stored logins of a run. Nothing is read yet. */
export function openLoginTokens({
  config,
  store,
  connection,
  noteRenewable,
}: TokenSourceOptions): LoginTokens {
  const known = new Map<LoginName, Promise<ValidToken>>();

  /** Cached while it is valid, because the repositories of a run need it often and concurrently. */
  async function tokenOf(name: LoginName, stored: StoredLogin): Promise<string> {
    const why = whyNotFor(config.GIT_HOST_URL, stored);
    if (why !== null) throw logInAgain(name, why);
    const before = known.get(name);
    if (before === undefined) return (await reread(name)).token;
    const valid = await before;
    if (!isExpiring(valid, connection.clock.now())) return valid.token;
    // The first caller to notice reads it again; the others wait for that.
    if (known.get(name) === before) reread(name);
    return (await (known.get(name) ?? reread(name))).token;
  }

  function reread(name: LoginName): Promise<ValidToken> {
    const read = readValidToken(name, { store, connection }).then((valid) => {
      const { token, renewable_until: until } = valid;
      if (until !== null) noteRenewable?.(name, token, until);
      return valid;
    });
    known.set(name, read);
    // Do not cache failures: a later call may succeed, for example after the keychain is unlocked.
    read.catch(() => {
      if (known.get(name) === read) known.delete(name);
    });
    return read;
  }

  return {
    tokenOf,
    async read(name) {
      const stored = await store.find(name);
      return stored === null ? null : tokenOf(name, stored);
    },
  };
}

/**
 * Decides where a run's tokens come from. Throws UNAUTHORIZED if there is neither a source login nor a
 * token in the environment, CREDENTIAL_STORAGE_UNAVAILABLE if credentials.json cannot be read.
 */
export async function openTokenSource(
  options: TokenSourceOptions,
  logins: LoginTokens = openLoginTokens(options),
): Promise<TokenSource> {
  const { config, store } = options;
  const login = await store.find('github:source');
  if (login !== null) {
    return {
      origin: 'login',
      discovery: login.kind === 'app' ? config.GIT_DISCOVERY : 'accounts',
      source: async () => logins.tokenOf('github:source', login),
    };
  }
  const tokens = environmentTokens(config);
  return {
    origin: 'environment',
    discovery: 'accounts',
    source: async (use) => tokens[use],
  };
}

/** Whether there is a source login or a token in the environment. A login that cannot be read counts. */
export async function hasSourceToken({
  config,
  store,
}: Pick<TokenSourceOptions, 'config' | 'store'>): Promise<boolean> {
  if ((config.GIT_TOKEN_PERSONAL ?? config.GIT_TOKEN_PRIVATE) !== undefined) return true;
  try {
    return (await store.find('github:source')) !== null;
  } catch (error) {
    if (error instanceof AppError && error.code === 'CREDENTIAL_STORAGE_UNAVAILABLE') return true;
    throw error;
  }
}

/** If only one of the two is set, it is used for everything. */
function environmentTokens(config: GitHostConfig): Record<SourceUse, string> {
  const { GIT_TOKEN_PERSONAL: personal, GIT_TOKEN_PRIVATE: privateOne } = config;
  const project = personal ?? privateOne;
  const others = privateOne ?? personal;
  if (project === undefined || others === undefined) {
    throw new AppError(
      'UNAUTHORIZED',
      `not logged in to the git host: ${loginCommand('github:source')}, or set GIT_TOKEN_PERSONAL or GIT_TOKEN_PRIVATE`,
    );
  }
  return { project, organization: others, private: others };
}

import { AppError } from '../../platform/errors.ts';
import type { GitHostConnection } from '../git-host/connection.ts';
import { explainHostFault, isPassing } from '../git-host/faults.ts';
import { type AppToken, OAuthError, requestRefresh } from '../git-host/oauth.ts';
import { KeychainError } from './keychain.ts';
import type { LoginFacts, LoginName, LoginSecrets, StoredLogin } from './login.ts';
import type { LoginStore, NewLogin } from './login-store.ts';
import { logInAgain } from './messages.ts';

/** A token with less time left than this is renewed before it is used. */
export const REFRESH_AHEAD_MS = 5 * 60_000;

/** Before each further attempt. */
const RETRY_PAUSES_MS = [1_000, 4_000, 9_000];
/** No attempt begins later: with its own limit it ends while others still wait for the lock. */
const LAST_ATTEMPT_MS = 20_000;

export interface RefreshOptions {
  store: LoginStore;
  connection: GitHostConnection;
}

/** Does a login's token end within the next minutes? */
export function isEnding({ expires_at }: Pick<LoginFacts, 'expires_at'>, now: number): boolean {
  return expires_at !== null && Date.parse(expires_at) - now < REFRESH_AHEAD_MS;
}

/** Why a login is not for a host; null when it is. */
export function whyNotFor(hostUrl: string, { host }: Pick<LoginFacts, 'host'>): string | null {
  return host === hostUrl ? null : `it is for ${host}, and GIT_HOST_URL names another host`;
}

/** Has the token of a login ended without a way to renew it? Needs no look at its secrets. */
export function hasExpired(login: LoginFacts, now: number): boolean {
  const { client_id: clientId, refresh_expires_at: ends } = login;
  return isEnding(login, now) && (clientId === null || ends === null || Date.parse(ends) <= now);
}

/** A token and when it ends; null when it does not expire. */
export interface ValidToken {
  token: string;
  expires_at: string | null;
}

/**
 * A token of the login that is still valid, renewed when it ends soon. One process renews at a time, and
 * the new refresh token is stored before the new token is returned. Throws UNAUTHORIZED when there is no
 * login or it has to be made again, CREDENTIAL_STORAGE_UNAVAILABLE when it cannot be read.
 */
export async function readValidToken(
  name: LoginName,
  options: RefreshOptions,
): Promise<ValidToken> {
  const { store, connection } = options;
  const login = await store.find(name);
  if (login === null) throw logInAgain(name, 'the login was removed');
  const isUsable = (stored: StoredLogin) => !isEnding(stored, connection.clock.now());
  if (isUsable(login)) return validToken(login, await readSecrets(name, login, store));
  return store.locked(async (held) => {
    // Another process may have renewed it in the meantime.
    const current = await held.find(name);
    if (current === null) throw logInAgain(name, 'the login was removed');
    const secrets = await readSecrets(name, current, store);
    if (isUsable(current)) return validToken(current, secrets);
    await held.rehearse();
    const renewed = await renew(name, current, secrets, connection);
    const stores = current.store === 'file' ? (['file'] as const) : (['keychain', 'file'] as const);
    await held.save(name, renewed, stores);
    return validToken(renewed.facts, renewed.secrets);
  });
}

function validToken({ expires_at }: LoginFacts, { token }: LoginSecrets): ValidToken {
  return { token, expires_at };
}

/** The secrets of a login. Throws CREDENTIAL_STORAGE_UNAVAILABLE with the way out (spec 3, Errors). */
export async function readSecrets(
  name: LoginName,
  login: StoredLogin,
  store: Pick<LoginStore, 'secretsOf'>,
): Promise<LoginSecrets> {
  try {
    return await store.secretsOf(name, login);
  } catch (error) {
    if (!(error instanceof KeychainError)) throw error;
    throw new AppError(
      'CREDENTIAL_STORAGE_UNAVAILABLE',
      `the keychain could not be read (${error.message}): log in again with --store file`,
    );
  }
}

async function renew(
  name: LoginName,
  login: StoredLogin,
  secrets: LoginSecrets,
  connection: GitHostConnection,
): Promise<NewLogin> {
  const { client_id: clientId } = login;
  const { refresh_token: refreshToken } = secrets;
  const ends = login.refresh_expires_at;
  const isOver = ends !== null && Date.parse(ends) <= connection.clock.now();
  if (clientId === null || refreshToken === null || isOver)
    throw logInAgain(name, 'it has expired');
  const token = await refresh({ clientId, refreshToken }, name, connection);
  return {
    facts: {
      kind: login.kind,
      account: login.account,
      host: login.host,
      client_id: clientId,
      expires_at: token.expiresAt,
      refresh_expires_at: token.refreshExpiresAt,
    },
    secrets: { token: token.token, refresh_token: token.refreshToken },
  };
}

/** Asks again where the host failed by its own fault: a long run must not end by one bad answer. */
async function refresh(
  login: { clientId: string; refreshToken: string },
  name: LoginName,
  connection: GitHostConnection,
): Promise<AppToken> {
  const { clock, signal, hostUrl } = connection;
  const startedAt = clock.now();
  for (const pauseMs of [...RETRY_PAUSES_MS, null]) {
    try {
      return await requestRefresh(connection, login);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof OAuthError) {
        throw logInAgain(name, `the git host refused to renew it (${error.code})`);
      }
      const isTooLate = pauseMs === null || clock.now() + pauseMs - startedAt > LAST_ATTEMPT_MS;
      if (isTooLate || !isPassing(error)) throw explainHostFault(error, hostUrl);
      await clock.sleep(pauseMs, signal);
    }
  }
  throw new Error('the last attempt neither succeeded nor failed');
}

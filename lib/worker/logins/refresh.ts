import { AppError } from '../../errors.ts';
import { KeychainError } from '../base/keychain.ts';
import type { GitHostConnection } from '../hosts/connection.ts';
import { explainHostError, isTransient } from '../hosts/errors.ts';
import { type AppToken, OAuthError, requestRefresh } from '../hosts/oauth.ts';
import {
  type LoginFacts,
  type LoginName,
  type LoginSecrets,
  loginFacts,
  type NewLogin,
  type StoredLogin,
} from './login.ts';
import { type LoginStore, storesFor } from './login-store.ts';
import { logInAgain } from './messages.ts';

/** A token with less time left than this is renewed before it is used. */
const REFRESH_AHEAD_MS = 5 * 60_000;

/** Pauses before each further attempt. */
const RETRY_PAUSES_MS = [1_000, 4_000, 9_000];
/** No attempt starts later than this, so that the last one ends before other processes stop waiting for the lock. */
const LAST_ATTEMPT_MS = 20_000;

interface RefreshOptions {
  store: LoginStore;
  connection: GitHostConnection;
}

/** Whether a login's token expires within the next five minutes. */
export function isExpiring({ expires_at }: Pick<LoginFacts, 'expires_at'>, now: number): boolean {
  return expires_at !== null && Date.parse(expires_at) - now < REFRESH_AHEAD_MS;
}

/** Why a login cannot be used for a host; null if it can. */
export function whyNotFor(hostUrl: string, { host }: Pick<LoginFacts, 'host'>): string | null {
  return host === hostUrl ? null : `it is for ${host}, but GIT_HOST_URL is another host`;
}

/** Whether a login has expired and cannot be renewed. */
export function hasExpired(login: LoginFacts, now: number): boolean {
  const { client_id: clientId, refresh_expires_at: ends } = login;
  return isExpiring(login, now) && (clientId === null || ends === null || Date.parse(ends) <= now);
}

/** A token, and when it expires (null: never). */
export interface ValidToken {
  token: string;
  expires_at: string | null;
  /** When the login can no longer renew its token and so ends; null if it cannot renew it at all. */
  renewable_until: string | null;
}

/**
 * Returns a valid token of the login, renewed if it expires soon. One process renews at a time, and the new
 * refresh token is stored before the new token is returned. Throws UNAUTHORIZED if the user must log in
 * (again), CREDENTIAL_STORAGE_UNAVAILABLE if the login cannot be read.
 */
export async function readValidToken(
  name: LoginName,
  options: RefreshOptions,
): Promise<ValidToken> {
  const { store, connection } = options;
  const login = await store.find(name);
  if (login === null) throw logInAgain(name, 'the login was removed');
  const isUsable = (stored: StoredLogin) => !isExpiring(stored, connection.clock.now());
  if (isUsable(login)) return validToken(login, await readSecrets(name, login, store));
  return store.locked(async (held) => {
    // Another process may have renewed it in the meantime.
    const current = await held.find(name);
    if (current === null) throw logInAgain(name, 'the login was removed');
    const secrets = await readSecrets(name, current, store);
    if (isUsable(current)) return validToken(current, secrets);
    await held.rehearse();
    const renewed = await renew(name, current, secrets, connection);
    await held.save(name, renewed, storesFor(current.store === 'file' ? 'file' : 'auto'));
    return validToken(renewed.facts, renewed.secrets);
  });
}

function validToken(
  { client_id, expires_at, refresh_expires_at }: LoginFacts,
  { token, refresh_token }: LoginSecrets,
): ValidToken {
  const isRenewable = client_id !== null && refresh_token !== null;
  return { token, expires_at, renewable_until: isRenewable ? refresh_expires_at : null };
}

/** The secrets of a login. Throws CREDENTIAL_STORAGE_UNAVAILABLE. */
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
  const { client_id: clientId, refresh_expires_at: end } = login;
  const { refresh_token: refreshToken } = secrets;
  const isOver = end !== null && Date.parse(end) <= connection.clock.now();
  if (clientId === null || refreshToken === null || isOver) {
    throw logInAgain(name, 'it has expired');
  }
  const { token, refresh_token, ...times } = await refresh(
    { clientId, refreshToken },
    name,
    connection,
  );
  return {
    facts: { ...loginFacts.parse(login), ...times },
    secrets: { token, refresh_token },
  };
}

/** Retries failures of the host, so that one bad response does not end a long run. */
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
        throw logInAgain(name, `the git host rejected its renewal (${error.code})`);
      }
      const isTooLate = pauseMs === null || clock.now() + pauseMs - startedAt > LAST_ATTEMPT_MS;
      if (isTooLate || !isTransient(error)) throw explainHostError(error, hostUrl);
      await clock.sleep(pauseMs, signal);
    }
  }
  throw new Error('the last attempt neither succeeded nor failed');
}

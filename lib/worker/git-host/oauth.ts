import { createDeviceCode, exchangeDeviceCode, refreshToken } from '@octokit/oauth-methods';
import { request as plainRequest } from '@octokit/request';
import { RequestError } from '@octokit/request-error';
import { z } from 'zod';
import { fetchWithin, type GitHostConnection, userAgent } from './connection.ts';

/** A token of the app's login as the host gave it; times are ISO 8601 in UTC, by our clock. */
export interface AppToken {
  token: string;
  refreshToken: string | null;
  expiresAt: string | null;
  refreshExpiresAt: string | null;
}

export interface DeviceCode {
  deviceCode: string;
  userCode: string;
  verificationUri: string;
  expiresInMs: number;
  intervalMs: number;
}

/** The host's answer to a login request: an error code of OAuth, such as `slow_down`. */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  readonly code: string;
  /** Seconds between polls that the answer asks for. */
  readonly interval: number | null;

  constructor(code: string, interval: number | null) {
    super(`the git host answered ${code}`);
    this.code = code;
    this.interval = interval;
  }
}

/** An answer that is none of a host's to a login request, such as a web page or half of one. */
export class UnreadableAnswer extends Error {
  override readonly name = 'UnreadableAnswer';
}

/** What a host grants unless it says otherwise, in seconds (spec 3, Token lifetime). */
const TOKEN_SECONDS = 8 * 3_600;
const REFRESH_SECONDS = 183 * 86_400;

const deviceCode = z.object({
  device_code: z.string().min(1),
  user_code: z.string().min(1),
  verification_uri: z.string().min(1),
  expires_in: z.number().positive(),
  interval: z.number().positive().default(5),
});
/** Stands in an answer that is not readable, for the library to throw. */
const UNREADABLE = 'unreadable_answer';

const oauthFault = z.object({
  error: z.string().regex(/^\w{1,60}$/),
  interval: z.number().positive().optional(),
});

/** Asks for the codes of a login. Throws OAuthError, UnreadableAnswer, RequestError. */
export async function requestDeviceCode(
  connection: GitHostConnection,
  clientId: string,
): Promise<DeviceCode> {
  const { data } = await asking(() =>
    createDeviceCode({ clientType: 'github-app', clientId, request: oauthRequest(connection) }),
  );
  const answer = deviceCode.parse(data);
  return {
    deviceCode: answer.device_code,
    userCode: answer.user_code,
    verificationUri: answer.verification_uri,
    expiresInMs: answer.expires_in * 1_000,
    intervalMs: answer.interval * 1_000,
  };
}

/** Asks once whether the person has allowed the login. Throws OAuthError (also while not) and the same. */
export async function requestToken(
  connection: GitHostConnection,
  { clientId, code }: { clientId: string; code: string },
): Promise<AppToken> {
  const { authentication } = await asking(() =>
    exchangeDeviceCode({
      clientType: 'github-app',
      clientId,
      code,
      request: oauthRequest(connection),
    }),
  );
  return readToken(authentication);
}

/**
 * Trades a refresh token, which ends with it, for a new token. An interruption does not end the request:
 * the host may have spent the old token, and the new one must reach its store. Throws OAuthError,
 * UnreadableAnswer, RequestError.
 */
export async function requestRefresh(
  connection: GitHostConnection,
  login: { clientId: string; refreshToken: string },
): Promise<AppToken> {
  // A token of the device flow is refreshed without the app's secret, which the type does not know.
  const options = {
    clientType: 'github-app',
    ...login,
    request: oauthRequest({ ...connection, signal: new AbortController().signal }, login),
  } as Parameters<typeof refreshToken>[0];
  const { authentication } = await asking(() => refreshToken(options));
  return readToken(authentication);
}

function readToken(granted: {
  token: string;
  refreshToken?: string;
  expiresAt?: string;
  refreshTokenExpiresAt?: string;
}): AppToken {
  return {
    token: granted.token,
    refreshToken: granted.refreshToken ?? null,
    expiresAt: granted.expiresAt ?? null,
    refreshExpiresAt: granted.refreshTokenExpiresAt ?? null,
  };
}

function oauthRequest(connection: GitHostConnection, renewed?: { refreshToken: string }) {
  return plainRequest.defaults({
    baseUrl: connection.hostUrl,
    headers: { 'user-agent': userAgent },
    request: {
      fetch: fetchWithin(connection),
      // The codes in these bodies are for this host alone.
      redirect: 'error',
      hook: async (request: typeof plainRequest, options: Parameters<typeof plainRequest>[0]) => {
        const response = await request(options);
        complete(response, connection.clock.now(), renewed?.refreshToken);
        return response;
      },
    },
  });
}

/**
 * Fills in what the library reads without looking: a token must not be lost because an answer lacks a
 * field. Times are counted from our clock, which they are held against later, not from the host's.
 */
function complete(
  response: { data: unknown; headers: Record<string, unknown> },
  now: number,
  refreshToken: string | undefined,
): void {
  response.headers.date = new Date(now).toUTCString();
  const { data } = response;
  if (typeof data !== 'object' || data === null) {
    response.data = { error: UNREADABLE };
    return;
  }
  const answer = data as Record<string, unknown>;
  if (
    typeof answer.access_token !== 'string' &&
    !('error' in answer) &&
    !('device_code' in answer)
  ) {
    answer.error = UNREADABLE;
  }
  if (typeof answer.scope !== 'string') answer.scope = '';
  // One that is not replaced stays good (RFC 6749, 6).
  if (typeof answer.access_token === 'string' && refreshToken !== undefined) {
    answer.refresh_token ??= refreshToken;
  }
  if ('refresh_token' in answer) {
    answer.expires_in = Number(answer.expires_in) || TOKEN_SECONDS;
    answer.refresh_token_expires_in = Number(answer.refresh_token_expires_in) || REFRESH_SECONDS;
  }
}

async function asking<Value>(ask: () => Promise<Value>): Promise<Value> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    // An overloaded host refuses nothing, whatever it calls that in its answer.
    if (error.status >= 500) throw error;
    const fault = oauthFault.safeParse(error.response?.data);
    if (error.status === 429 && fault.data?.error !== 'slow_down') throw error;
    if (fault.data?.error === UNREADABLE) throw new UnreadableAnswer();
    // Not as a cause: the error holds the request's body, and with it the code or refresh token.
    if (fault.success) throw new OAuthError(fault.data.error, fault.data.interval ?? null);
    throw error;
  }
}

import { RequestError } from '@octokit/request-error';
import * as z from 'zod';
import { readBoundedText } from '../../http/bounded-text.ts';
import { parseJson } from '../../json.ts';
import { fetchWithin, type GitHostConnection, userAgent } from './connection.ts';

/** A token of a login with the app. Times are ISO 8601 in UTC, by our clock. */
export interface AppToken {
  token: string;
  refresh_token: string | null;
  expires_at: string | null;
  refresh_expires_at: string | null;
}

export type DeviceCode = z.output<typeof deviceCode>;

/** An OAuth error response of the host, such as `slow_down`. */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  readonly code: string;
  /** The requested seconds between polls. */
  readonly interval: number | null;

  constructor(code: string, interval: number | null) {
    super(`the git host answered ${code}`);
    this.code = code;
    this.interval = interval;
  }
}

const MAX_RESPONSE_BYTES = 64 * 1024;
/** GitHub's lifetimes, in case a response lacks them. */
const TOKEN_SECONDS = 8 * 3_600;
const REFRESH_SECONDS = 183 * 86_400;

const deviceCode = z.object({
  device_code: z.string().min(1),
  user_code: z.string().min(1),
  verification_uri: z.string().min(1),
  expires_in: z.number().positive(),
  interval: z.number().positive().default(5),
});
// Only the token is required: it must not be lost because another field is missing.
const grantedToken = z.object({
  access_token: z.string().min(1),
  refresh_token: z.string().min(1).optional().catch(undefined),
  expires_in: z.coerce.number().positive().catch(TOKEN_SECONDS),
  refresh_token_expires_in: z.coerce.number().positive().catch(REFRESH_SECONDS),
});
const oauthError = z.object({
  error: z.string().regex(/^\w{1,60}$/),
  interval: z.number().positive().optional(),
});

/** Requests the codes of a device login. Like the functions below, throws OAuthError, RequestError, ZodError. */
export function requestDeviceCode(
  connection: GitHostConnection,
  clientId: string,
): Promise<DeviceCode> {
  return post(connection, '/login/device/code', { client_id: clientId }, deviceCode);
}

/** Polls once for the token. Throws OAuthError while the login is not authorized. */
export async function requestToken(
  connection: GitHostConnection,
  { clientId, code }: { clientId: string; code: string },
): Promise<AppToken> {
  return requestGrant(connection, {
    client_id: clientId,
    device_code: code,
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
  });
}

/**
 * Exchanges a refresh token for a new token, which invalidates the old one. Cannot be interrupted: the host
 * may already have invalidated the old token, so the new one must be stored.
 */
export async function requestRefresh(
  connection: GitHostConnection,
  { clientId, refreshToken }: { clientId: string; refreshToken: string },
): Promise<AppToken> {
  return requestGrant(
    { ...connection, signal: new AbortController().signal },
    { client_id: clientId, refresh_token: refreshToken, grant_type: 'refresh_token' },
  );
}

async function requestGrant(
  connection: GitHostConnection,
  body: Record<string, string>,
): Promise<AppToken> {
  const granted = await post(connection, '/login/oauth/access_token', body, grantedToken);
  // A refresh token that is not replaced stays valid (RFC 6749, section 6).
  const refreshToken = granted.refresh_token ?? body.refresh_token ?? null;
  const after = (seconds: number) =>
    refreshToken === null ? null : new Date(connection.clock.now() + seconds * 1_000).toISOString();
  return {
    token: granted.access_token,
    refresh_token: refreshToken,
    expires_at: after(granted.expires_in),
    refresh_expires_at: after(granted.refresh_token_expires_in),
  };
}

async function post<Answer>(
  connection: GitHostConnection,
  path: string,
  body: Record<string, string>,
  shape: z.ZodType<Answer>,
): Promise<Answer> {
  const url = `${connection.hostUrl}${path}`;
  const response = await fetchWithin(connection)(url, {
    method: 'POST',
    headers: {
      Accept: 'application/json',
      'Content-Type': 'application/json',
      'User-Agent': userAgent,
    },
    body: JSON.stringify(body),
    // The codes in the body are only for this host.
    redirect: 'error',
  });
  const { ok, status, headers } = response;
  const data = parseJson(await readBoundedText(response, MAX_RESPONSE_BYTES));
  const problem = oauthError.safeParse(data).data;
  // An overloaded host may respond with any error code.
  const isOverloaded = status >= 500 || (status === 429 && problem?.error !== 'slow_down');
  if (problem && !isOverloaded) throw new OAuthError(problem.error, problem.interval ?? null);
  if (ok) return shape.parse(data);
  // Without the bodies, which hold codes and tokens.
  throw new RequestError(`the git host answered ${status}`, status, {
    request: { method: 'POST', url, headers: {} },
    response: { status, url, headers: Object.fromEntries(headers), data: null },
  });
}

import { RequestError } from '@octokit/request-error';
import * as z from 'zod';
import { readBoundedText } from '../../http/bounded-text.ts';
import { parseJson } from '../../json.ts';
import { fetchWithin, type GitHostConnection, userAgent } from './connection.ts';

/** A token of the app's login; times are ISO 8601 in UTC, by our clock. */
export interface AppToken {
  token: string;
  refresh_token: string | null;
  expires_at: string | null;
  refresh_expires_at: string | null;
}

export type DeviceCode = z.output<typeof deviceCode>;

/** The host refused a login request with an error code of OAuth, such as `slow_down`. */
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

const MAX_ANSWER_BYTES = 64 * 1024;
/** What GitHub grants, in case an answer does not say. */
const TOKEN_SECONDS = 8 * 3_600;
const REFRESH_SECONDS = 183 * 86_400;

const deviceCode = z.object({
  device_code: z.string().min(1),
  user_code: z.string().min(1),
  verification_uri: z.string().min(1),
  expires_in: z.number().positive(),
  interval: z.number().positive().default(5),
});
// Only the token is required: it must not be lost because the answer lacks another field.
const grantedToken = z.object({
  access_token: z.string().min(1),
  refresh_token: z.string().min(1).optional().catch(undefined),
  expires_in: z.coerce.number().positive().catch(TOKEN_SECONDS),
  refresh_token_expires_in: z.coerce.number().positive().catch(REFRESH_SECONDS),
});
const oauthFault = z.object({
  error: z.string().regex(/^\w{1,60}$/),
  interval: z.number().positive().optional(),
});

/** Asks for the codes of a login. Like the others, throws OAuthError, RequestError, ZodError. */
export function requestDeviceCode(
  connection: GitHostConnection,
  clientId: string,
): Promise<DeviceCode> {
  return post(connection, '/login/device/code', { client_id: clientId }, deviceCode);
}

/** Asks once whether the login was allowed. Throws OAuthError while it was not. */
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
 * Trades a refresh token for a new token, which ends the old one. An interruption does not end the
 * request: the host may have spent the old token already, and the new one must be stored.
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
    // The codes in the body are for this host alone.
    redirect: 'error',
  });
  const { ok, status, headers } = response;
  const data = parseJson(await readBoundedText(response, MAX_ANSWER_BYTES));
  const fault = oauthFault.safeParse(data).data;
  // An overloaded host may give its failure any error code.
  const isOverloaded = status >= 500 || (status === 429 && fault?.error !== 'slow_down');
  if (fault && !isOverloaded) throw new OAuthError(fault.error, fault.interval ?? null);
  if (ok) return shape.parse(data);
  // Without the bodies, which hold codes and tokens.
  throw new RequestError(`the git host answered ${status}`, status, {
    request: { method: 'POST', url, headers: {} },
    response: { status, url, headers: Object.fromEntries(headers), data: null },
  });
}

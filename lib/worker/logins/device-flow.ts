import { RequestError } from '@octokit/request-error';
import { AppError } from '../../errors.ts';
import { cleanText } from '../../text/clean-text.ts';
import { explainHostError, isTransient, retryAfterOf } from '../hosts/errors.ts';
import {
  type AppToken,
  type DeviceCode,
  OAuthError,
  requestDeviceCode,
  requestToken,
} from '../hosts/oauth.ts';
import type { LoginSession } from './session.ts';

/** Codes are abandoned after this, even if the host says that they are valid for longer. */
const CODE_LIFE_MS = 15 * 60_000;
/** Added by `slow_down` if the host gives no interval (RFC 8628, section 3.5). */
const SLOW_DOWN_MS = 5_000;
const MIN_INTERVAL_MS = 1_000;

/**
 * The device authorization flow: shows a URL and a code, and waits until the user has entered the code.
 * Throws UNAUTHORIZED if it was denied or the code expired, BAD_REQUEST for a wrong client id or an app that
 * does not allow the flow, SERVICE_UNAVAILABLE if the host does not respond.
 */
export async function authorizeDevice(session: LoginSession, clientId: string): Promise<AppToken> {
  const { connection, person, clock, signal } = session;
  const device = await begin(session, clientId);
  const lifeMs = Math.min(device.expires_in * 1_000, CODE_LIFE_MS);
  const address = pageOf(device.verification_uri, connection.hostUrl);
  const code = cleanText(device.user_code, 40);
  person.say(`Open   ${person.strong(address)}`);
  person.say(`Enter  ${person.strong(code)}   (valid for ${Math.ceil(lifeMs / 60_000)} minutes)`);
  const ended = new AbortController();
  const message = 'Copy the code and open the page in your browser?';
  const waiting = 'Waiting for you to authorize the login.';
  const offered = person.offer({ message, address, copied: code, waiting }, ended.signal);
  try {
    return await poll(session, { clientId, device, endsAt: clock.now() + lifeMs });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    ended.abort();
    await offered;
  }
}

async function begin({ connection, signal }: LoginSession, clientId: string): Promise<DeviceCode> {
  try {
    return await requestDeviceCode(connection, clientId);
  } catch (error) {
    signal.throwIfAborted();
    // The host does not know the app.
    if (error instanceof RequestError && error.status === 404) throw wrongClientId();
    throw explainOAuthError(error, connection.hostUrl);
  }
}
async function poll(
  { connection, clock, signal }: LoginSession,
  { clientId, device, endsAt }: { clientId: string; device: DeviceCode; endsAt: number },
): Promise<AppToken> {
  let interval = Math.max(device.interval * 1_000, MIN_INTERVAL_MS);
  let pause = interval;
  for (;;) {
    await clock.sleep(Math.min(pause, endsAt - clock.now()), signal);
    if (clock.now() >= endsAt) throw codeExpired();
    try {
      return await requestToken(connection, { clientId, code: device.device_code });
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof OAuthError && error.code === 'slow_down') {
        // Applies to all later polls.
        interval = Math.max((error.interval ?? 0) * 1_000, interval + SLOW_DOWN_MS);
      } else if (!isPending(error) && !isTransient(error)) {
        throw explainOAuthError(error, connection.hostUrl);
      }
      pause = Math.max(interval, (retryAfterOf(error) ?? 0) * 1_000);
    }
  }
}

const isPending = (error: unknown) =>
  error instanceof OAuthError && error.code === 'authorization_pending';

function explainOAuthError(error: unknown, hostUrl: string): AppError {
  if (!(error instanceof OAuthError)) return explainHostError(error, hostUrl);
  switch (error.code) {
    case 'device_flow_disabled':
      return new AppError(
        'BAD_REQUEST',
        "the app does not allow the device flow (device_flow_disabled): enable device flow in the app's settings, then log in again",
      );
    case 'incorrect_client_credentials':
      return wrongClientId();
    case 'access_denied':
      return new AppError('UNAUTHORIZED', 'the login was denied: log in again to retry');
    case 'expired_token':
    case 'incorrect_device_code':
      return codeExpired();
    default:
      return new AppError('UNAUTHORIZED', `the git host rejected the login (${error.code})`);
  }
}

function wrongClientId(): AppError {
  return new AppError(
    'BAD_REQUEST',
    'the git host does not know the client id (incorrect_client_credentials): check --client-id, GIT_APP_CLIENT_ID or app.json, and GIT_HOST_URL',
  );
}

function codeExpired(): AppError {
  return new AppError('UNAUTHORIZED', 'the code has expired: log in again for a new one');
}

/** The page to open: only a page of the host itself may get the code. */
function pageOf(address: string, hostUrl: string): string {
  const url = URL.parse(address);
  return url?.origin === hostUrl ? url.href : `${hostUrl}/login/device`;
}

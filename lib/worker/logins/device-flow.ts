import { RequestError } from '@octokit/request-error';
import { cleanText } from '../../platform/clean-text.ts';
import { AppError } from '../../platform/errors.ts';
import { explainHostFault, isPassing, retryAfterOf } from '../git-host/faults.ts';
import {
  type AppToken,
  type DeviceCode,
  OAuthError,
  requestDeviceCode,
  requestToken,
} from '../git-host/oauth.ts';
import type { LoginSession } from './session.ts';

/** How long a code is valid at most (spec 3, Worker login commands). */
const CODE_LIFE_MS = 15 * 60_000;
/** What `slow_down` adds where the host names no interval (RFC 8628, 3.5). */
const SLOW_DOWN_MS = 5_000;
/** A host that asks for less is not polled faster. */
const SHORTEST_INTERVAL_MS = 1_000;

/**
 * The device authorization flow: shows an address and a code, and waits until the person has entered it
 * there. Throws UNAUTHORIZED when it was denied or the code ran out, BAD_REQUEST for a wrong client id or
 * an app that does not allow the flow, SERVICE_UNAVAILABLE when the host does not answer.
 */
export async function authorizeDevice(session: LoginSession, clientId: string): Promise<AppToken> {
  const { connection, person, clock, signal } = session;
  const device = await begin(session, clientId);
  const lifeMs = Math.min(device.expiresInMs, CODE_LIFE_MS);
  const address = pageOf(device.verificationUri, connection.hostUrl);
  const code = cleanText(device.userCode, 40);
  person.say(`Open   ${person.strong(address)}`);
  person.say(`Enter  ${person.strong(code)}   (valid for ${Math.ceil(lifeMs / 60_000)} minutes)`);
  const over = new AbortController();
  const message = 'Copy the code and open the page in your browser?';
  const waiting = 'Waiting until the login is allowed there.';
  const offered = person.offer({ message, address, copied: code, waiting }, over.signal);
  try {
    return await poll(session, { clientId, device, endsAt: clock.now() + lifeMs });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    over.abort();
    await offered;
  }
}

async function begin({ connection, signal }: LoginSession, clientId: string): Promise<DeviceCode> {
  try {
    return await requestDeviceCode(connection, clientId);
  } catch (error) {
    signal.throwIfAborted();
    // The host knows no such app.
    if (error instanceof RequestError && error.status === 404) throw wrongClientId();
    throw explainRefusal(error, connection.hostUrl);
  }
}

async function poll(
  { connection, clock, signal }: LoginSession,
  { clientId, device, endsAt }: { clientId: string; device: DeviceCode; endsAt: number },
): Promise<AppToken> {
  let interval = Math.max(device.intervalMs, SHORTEST_INTERVAL_MS);
  let pause = interval;
  for (;;) {
    if (clock.now() + pause > endsAt) await clock.sleep(endsAt - clock.now(), signal);
    else await clock.sleep(pause, signal);
    if (clock.now() >= endsAt) throw tooLate();
    try {
      return await requestToken(connection, { clientId, code: device.deviceCode });
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof OAuthError && error.code === 'slow_down') {
        // It stays longer for all later polls.
        interval = Math.max((error.interval ?? 0) * 1_000, interval + SLOW_DOWN_MS);
      } else if (!isPending(error) && !isPassing(error)) {
        throw explainRefusal(error, connection.hostUrl);
      }
      pause = Math.max(interval, (retryAfterOf(error) ?? 0) * 1_000);
    }
  }
}

function isPending(error: unknown): boolean {
  return error instanceof OAuthError && error.code === 'authorization_pending';
}

/** spec 3, Errors: each with its fix. */
function explainRefusal(error: unknown, hostUrl: string): AppError {
  if (!(error instanceof OAuthError)) return explainHostFault(error, hostUrl);
  switch (error.code) {
    case 'device_flow_disabled':
      return new AppError(
        'BAD_REQUEST',
        "the app does not allow the device flow (device_flow_disabled): enable device flow in the app's settings, then log in again",
      );
    case 'incorrect_client_credentials':
      return wrongClientId();
    case 'access_denied':
      return new AppError(
        'UNAUTHORIZED',
        'the login was denied on the page: log in again to retry',
      );
    case 'expired_token':
    case 'incorrect_device_code':
      return tooLate();
    default:
      return new AppError('UNAUTHORIZED', `the git host refused the login (${error.code})`);
  }
}

function wrongClientId(): AppError {
  return new AppError(
    'BAD_REQUEST',
    'the git host does not know the client id (incorrect_client_credentials): check --client-id, GIT_APP_CLIENT_ID or app.json, and GIT_HOST_URL',
  );
}

function tooLate(): AppError {
  return new AppError('UNAUTHORIZED', 'the code has expired: log in again for a new one');
}

/** The page to open. One that is not the host's own is not to be trusted with the code. */
function pageOf(address: string, hostUrl: string): string {
  const isOfHost = URL.canParse(address) && new URL(address).origin === hostUrl;
  return isOfHost ? new URL(address).href : `${hostUrl}/login/device`;
}

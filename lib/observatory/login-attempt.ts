import type { Context } from 'hono';
import { hasSecretHeader } from '../http/authentication.ts';
import type { HttpEnv } from '../http/env.ts';
import { parseAddress } from '../text/network.ts';
import type { ObservatoryDeps } from './base/observatory-deps.ts';

/**
 * Checks a password with `verify`, and counts a null result as a failed login from the client's address.
 * Throws LOGIN_LOCKED when the address has failed too often.
 */
export async function countAttempt<Value>(
  c: Context<HttpEnv>,
  deps: ObservatoryDeps,
  verify: () => Promise<Value | null>,
): Promise<Value | null> {
  const address = loginAddress(c, deps);
  const attempt = await deps.lockout.begin(address);
  let verified: Value | null;
  try {
    verified = await verify();
  } catch (error) {
    await attempt.cancel();
    throw error;
  }
  if (verified === null) {
    attempt.fail();
    deps.log.warn('a login failed', { request_id: c.get('requestId'), address });
    return null;
  }
  await attempt.succeed();
  return verified;
}

/**
 * The address whose failures are counted: the client's, or with a valid X-Internal-Secret the one in
 * X-Client-Address.
 */
function loginAddress(c: Context<HttpEnv>, { config }: ObservatoryDeps): string {
  const named = hasSecretHeader(c, config)
    ? parseAddress(c.req.header('x-client-address')?.trim() ?? '')
    : null;
  return named ?? c.get('clientAddress');
}

import type { Context } from 'hono';
import { AppError } from '../platform/errors.ts';
import { carriesSecretHeader } from '../platform/http/authentication.ts';
import type { HttpEnv } from '../platform/http/env.ts';
import { type Endpoint, endpoint } from '../platform/http/route.ts';
import { parseAddress } from '../platform/network.ts';
import { sendData } from './answers.ts';
import { notConfigured } from './authentication.ts';
import type { ObservatoryHandles } from './handles.ts';
import type { VerifiedLogin } from './password-check.ts';
import { loginRoute, meRoute } from './routes/auth.ts';

/** POST /auth/login and GET /auth/me. */
export const authEndpoints: readonly Endpoint<ObservatoryHandles>[] = [
  endpoint(loginRoute, async ({ body }, handles: ObservatoryHandles, c) => {
    const { tokens, lockout, checkPassword, log } = handles;
    if (tokens === null) throw notConfigured();
    const address = loginAddress(c, handles);
    const attempt = await lockout.begin(address);
    let verified: VerifiedLogin | null;
    try {
      verified = await checkPassword(body.username, body.password);
    } catch (error) {
      await attempt.cancel();
      throw error;
    }
    if (verified === null) {
      attempt.fail();
      log.warn('a login failed', { request_id: c.get('requestId'), address });
      throw wrongCredentials();
    }
    await attempt.succeed();
    const token = await tokens.issue(body.username, verified.credential);
    return c.json({ access_token: token, token_type: 'bearer' });
  }),
  endpoint(meRoute, (_input, _handles: ObservatoryHandles, c) =>
    sendData(c, 'Read the user of the token', { username: c.get('user') }),
  ),
];

/**
 * The address that a login counts for: the client's, or the one in X-Client-Address when the request
 * carries a valid X-Internal-Secret. (spec 2, Authentication)
 */
function loginAddress(c: Context<HttpEnv>, { config }: ObservatoryHandles): string {
  const named = carriesSecretHeader(c, config)
    ? parseAddress(c.req.header('x-client-address')?.trim() ?? '')
    : null;
  return named ?? c.get('clientAddress');
}

function wrongCredentials(): AppError {
  return new AppError('UNAUTHORIZED', 'wrong user name or password', {
    headers: { 'WWW-Authenticate': 'Bearer realm="observatory"' },
  });
}

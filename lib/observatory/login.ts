import type { Context } from 'hono';
import * as z from 'zod';
import { AppError } from '../errors.ts';
import { hasSecretHeader } from '../http/authentication.ts';
import type { HttpEnv } from '../http/env.ts';
import { parseAddress } from '../http/network.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { observatoryRoute, refused, sendData, wrapped } from './answers.ts';
import { notConfigured } from './authentication.ts';
import type { ObservatoryDeps } from './observatory-deps.ts';
import type { VerifiedLogin } from './password-check.ts';

const common = { ...observatoryRoute, tag: 'Login' } as const;

/** The lengths are limited so that every guess costs the same. */
const credentials = z
  .object({
    username: z.string().min(1).max(256),
    password: z.string().min(1).max(1024).meta({ format: 'password' }),
  })
  .meta({ id: 'Login' });

const accessToken = z
  .object({ access_token: z.string(), token_type: z.literal('bearer') })
  .meta({ id: 'AccessToken' });

/** POST /auth/login and GET /auth/me. */
export const authEndpoints: readonly Endpoint<ObservatoryDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'post',
      path: '/auth/login',
      access: 'public',
      summary: 'Log in with a user name and password, and get an access token',
      description:
        'Failures are counted by client address. A caller with X-Internal-Secret can pass the address of its own client in X-Client-Address.',
      body: { encoding: 'form', schema: credentials, maxBytes: 8 * 1024 },
      responses: {
        200: { description: 'The token.', schema: accessToken },
        401: refused('Wrong user name or password.'),
        429: refused(
          'Too many failures (LOGIN_LOCKED) or requests. Retry-After says how long to wait.',
        ),
        503: refused('The database or the configuration is not available.'),
      },
    },
    async ({ body }, deps: ObservatoryDeps, c) => {
      const { tokens, lockout, checkPassword, log } = deps;
      if (tokens === null) throw notConfigured();
      const address = loginAddress(c, deps);
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
    },
  ),
  endpoint(
    {
      ...common,
      method: 'get',
      path: '/auth/me',
      access: 'user',
      summary: 'Read the user of the access token',
      responses: {
        200: wrapped('The user.', z.object({ username: z.string() }).meta({ id: 'Me' })),
      },
    },
    (_input, _deps: ObservatoryDeps, c) =>
      sendData(c, 'Read the user of the token', { username: c.get('user') }),
  ),
];

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

function wrongCredentials(): AppError {
  return new AppError('UNAUTHORIZED', 'wrong user name or password', {
    headers: { 'WWW-Authenticate': 'Bearer realm="observatory"' },
  });
}

import type { Context } from 'hono';
import * as z from 'zod';
import { AppError } from '../errors.ts';
import type { HttpEnv } from '../http/env.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { endSession } from '../users/ended-sessions.ts';
import { clearSessionCookie, rejectFalseHttps } from '../users/session-cookie.ts';
import type { TokenSubject } from '../users/tokens.ts';
import { isAdministrator, loginNotConfigured } from '../users/user-check.ts';
import { observatoryRoute, refused, sendData, wrapped } from './base/answers.ts';
import type { ObservatoryDeps } from './base/observatory-deps.ts';
import { issueToken, startSession } from './issue-token.ts';
import { countAttempt } from './login-attempt.ts';

const common = { ...observatoryRoute, tag: 'Login' } as const;

const MAX_LOGIN_BYTES = 8 * 1024;

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

const session = z
  .object({
    username: z.string(),
    expires_at: z.iso.datetime().meta({ description: 'When the cookie expires, in UTC.' }),
  })
  .meta({ id: 'BrowserSession' });

const loginCode = z
  .object({ code: z.string().min(1).max(256) })
  .meta({ id: 'LoginCode', description: 'The code of a login link, which works once.' });

const refusals = {
  429: refused('Too many failures (LOGIN_LOCKED) or requests. Retry-After says how long to wait.'),
  503: refused('The database or the configuration is not available.'),
};

/** POST /auth/login, POST and DELETE /auth/session, and GET /auth/me. */
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
      body: { encoding: 'form', schema: credentials, maxBytes: MAX_LOGIN_BYTES },
      responses: {
        200: { description: 'The token.', schema: accessToken },
        401: refused('Wrong user name or password.'),
        ...refusals,
      },
    },
    async ({ body }, deps: ObservatoryDeps, c) => {
      const subject = await logIn(c, deps, () => verifyPassword(deps, body));
      const token = await issueToken(deps, subject);
      return c.json({ access_token: token, token_type: 'bearer' });
    },
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      path: '/auth/session',
      access: 'public',
      summary:
        'Log a browser in, with a user name and password or with a login code, and set a cookie',
      description:
        'The cookie holds an access token that no script can read: `__Host-backup-observatory` over https (`__Secure-backup-observatory` if the server is below a path), `backup-observatory` over plain http. Wrong passwords count like those of /auth/login.',
      body: {
        encoding: 'json',
        schema: z.union([credentials, loginCode]),
        maxBytes: MAX_LOGIN_BYTES,
      },
      responses: {
        200: wrapped('The session.', session),
        400: refused('Invalid input, or a proxy claims https while the browser uses http.'),
        401: refused('Wrong user name or password, or a code that was used or has expired.'),
        ...refusals,
      },
    },
    async ({ body }, deps: ObservatoryDeps, c) => {
      rejectFalseHttps(c); // before the code of a login link is used up
      // Failures are not counted: a code cannot be guessed, and any page can open a link with a wrong one.
      const subject =
        'code' in body
          ? redeemCode(deps, body)
          : await logIn(c, deps, () => verifyPassword(deps, body));
      const expires_at = await startSession(c, deps, subject);
      return sendData(c, 'Logged in', { username: subject.username, expires_at });
    },
  ),
  endpoint(
    {
      ...common,
      method: 'delete',
      path: '/auth/session',
      access: 'user',
      summary: 'Log a browser out: its cookie and token are no longer valid',
      responses: { 200: wrapped('The browser is logged out.', z.object({})) },
    },
    async (_input, { db }: ObservatoryDeps, c) => {
      const current = c.get('browserSession');
      if (current !== null) await endSession(db, current);
      clearSessionCookie(c);
      return sendData(c, 'Logged out', {});
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
        200: wrapped(
          'The user.',
          z
            .object({
              username: z.string(),
              is_admin: z.boolean().meta({
                description:
                  'Whether the user may change how backups are made, and what is told to whom.',
              }),
            })
            .meta({ id: 'Me' }),
        ),
      },
    },
    async (_input, deps: ObservatoryDeps, c) => {
      const username = c.get('user');
      const is_admin = await isAdministrator(deps, username);
      return sendData(c, 'Read the user of the token', { username, is_admin });
    },
  ),
];

/** Logs a user in with `verify`. Throws UNAUTHORIZED when that returns null. */
async function logIn(
  c: Context<HttpEnv>,
  deps: ObservatoryDeps,
  verify: () => Promise<TokenSubject | null>,
): Promise<TokenSubject> {
  if (deps.users.tokens === null) throw loginNotConfigured();
  const subject = await countAttempt(c, deps, verify);
  if (subject === null) throw wrongCredentials('wrong user name or password');
  return subject;
}

async function verifyPassword(
  { passwords }: ObservatoryDeps,
  { username, password }: z.output<typeof credentials>,
): Promise<TokenSubject | null> {
  const verified = await passwords.check(username, password);
  return verified && { username, ...verified };
}

/** Codes are issued for AUTH_USERNAME only, which has no stored password. */
function redeemCode(
  { loginCodes }: ObservatoryDeps,
  { code }: z.output<typeof loginCode>,
): TokenSubject {
  const username = loginCodes?.redeem(code) ?? null;
  if (username === null) throw wrongCredentials('this login link was used or has expired');
  return { username, credential: null };
}

function wrongCredentials(message: string): AppError {
  return new AppError('UNAUTHORIZED', message, {
    headers: { 'WWW-Authenticate': 'Bearer realm="observatory"' },
  });
}

import { z } from 'zod';
import { memoize } from '../../platform/memoize.ts';
import { declareRoute, refused, wrapped } from '../declare.ts';

const common = { tag: 'Login' } as const;

/** Bounded, so that a guess costs the same whatever is sent. */
const credentials = memoize(() =>
  z
    .object({
      username: z.string().min(1).max(256),
      password: z.string().min(1).max(1024).meta({ format: 'password' }),
    })
    .meta({ id: 'Login' }),
);

const accessToken = memoize(() =>
  z
    .object({ access_token: z.string(), token_type: z.literal('bearer') })
    .meta({ id: 'AccessToken' }),
);

/** POST /auth/login. */
export const loginRoute = declareRoute({
  ...common,
  method: 'post',
  path: '/auth/login',
  access: 'public',
  summary: 'Log in: a user name and a password for an access token',
  description:
    'Failures are counted by client address. A caller with X-Internal-Secret names the address of its own client in X-Client-Address.',
  body: { encoding: 'form', schema: credentials },
  responses: () => ({
    200: { description: 'The token.', schema: accessToken() },
    401: refused('Wrong user name or password.'),
    429: refused(
      'Too many failures (LOGIN_LOCKED) or requests; Retry-After says how long to wait.',
    ),
    503: refused('The database or the configuration is not available.'),
  }),
});

/** GET /auth/me. */
export const meRoute = declareRoute({
  ...common,
  method: 'get',
  path: '/auth/me',
  access: 'user',
  summary: 'Read whose token this is',
  responses: () => ({
    200: wrapped('The user.', z.object({ username: z.string() }).meta({ id: 'Me' })),
  }),
});

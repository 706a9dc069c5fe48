import type { Context } from 'hono';
import * as z from 'zod';
import { MIN_PASSWORD_LENGTH } from '../config/values.ts';
import { AppError } from '../errors.ts';
import type { HttpEnv } from '../http/env.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { fingerprintHash } from '../security/password.ts';
import { isConfiguredUser } from '../users/user-check.ts';
import {
  addUser,
  changePassword,
  listUsers,
  removeUser,
  setAdmin,
  USERNAME,
} from '../users/users.ts';
import { observatoryRoute, refused, sendData, wrapped } from './base/answers.ts';
import type { ObservatoryDeps } from './base/observatory-deps.ts';
import { startSession } from './issue-token.ts';
import { countAttempt } from './login-attempt.ts';
import { requireOwner } from './require-owner.ts';

const common = { ...observatoryRoute, tag: 'Users', access: 'user' } as const;

const MAX_LISTED = 1_000;
const MAX_BYTES = 8 * 1024;

const newPassword = z
  .string()
  .min(MIN_PASSWORD_LENGTH, `must have at least ${MIN_PASSWORD_LENGTH} characters`)
  .max(1024)
  .meta({ format: 'password' });
const newName = z
  .string()
  .regex(USERNAME, 'must have 1 to 64 letters, digits or . _ @ + -')
  .meta({ example: 'grace' });
/** Less strict, because other programs may have stored users. Postgres cannot store NUL. */
const knownName = z
  .string()
  .max(256)
  .regex(/^[^\0]*$/, 'must not contain NUL')
  .meta({ description: 'Name of a user.' });

const user = z
  .object({
    username: z.string(),
    created_at: z.iso.datetime().nullable().meta({ description: 'Null for AUTH_USERNAME.' }),
    is_owner: z.boolean().meta({ description: 'Whether it is AUTH_USERNAME, who manages users.' }),
    is_admin: z.boolean().meta({
      description: 'Whether the user may change how backups are made, and what is told to whom.',
    }),
  })
  .meta({ id: 'User' });
const named = z.object({ username: z.string() }).meta({ id: 'UserName' });

const notOwner = refused('Only AUTH_USERNAME manages users.');
const unknown = refused('There is no such user.');
const busy = refused('Too many passwords at once, or no database.');

/** GET and POST /users, PATCH and DELETE /users/:name, PUT /users/:name/password. */
export const usersEndpoints: readonly Endpoint<ObservatoryDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'get',
      path: '/users',
      summary: 'List the users; only yourself if you are not AUTH_USERNAME',
      responses: {
        200: wrapped(
          'The users.',
          z.object({
            may_manage: z.boolean().meta({ description: 'Whether you are AUTH_USERNAME.' }),
            users: z.array(user).meta({ description: `At most ${MAX_LISTED}, by name.` }),
          }),
        ),
      },
    },
    async (_input, { config, db }: ObservatoryDeps, c) => {
      const self = c.get('user');
      const isOwner = isConfiguredUser(config, self);
      const stored = await listUsers(db, isOwner ? { limit: MAX_LISTED } : { only: self });
      const others = stored
        // AUTH_USERNAME takes precedence over a user of the same name in the table.
        .filter(({ username }) => !isOwner || username !== self)
        .map(({ username, created_at, is_admin }) => {
          return { username, created_at, is_owner: false, is_admin };
        });
      const owner = { username: self, created_at: null, is_owner: true, is_admin: true };
      return sendData(c, 'Read the users', {
        may_manage: isOwner,
        users: isOwner ? [owner, ...others] : others,
      });
    },
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      path: '/users',
      summary: 'Add a user, as AUTH_USERNAME',
      body: {
        encoding: 'json',
        schema: z
          .object({
            username: newName,
            password: newPassword,
            is_admin: z
              .boolean()
              .default(false)
              .meta({ description: 'Whether the user becomes an administrator.' }),
          })
          .meta({ id: 'NewUser' }),
        maxBytes: MAX_BYTES,
      },
      responses: {
        201: wrapped('The user.', named),
        403: notOwner,
        409: refused('The name is taken.'),
        503: busy,
      },
    },
    async ({ body: { username, password, is_admin: isAdmin } }, deps: ObservatoryDeps, c) => {
      requireOwner(c, deps, 'users');
      if (isConfiguredUser(deps.config, username)) {
        throw new AppError('CONFLICT', `user ${username} already exists`);
      }
      await addUser(deps.db, username, await deps.passwords.hash(password), { isAdmin });
      logChange(c, deps, isAdmin ? 'an administrator was added' : 'a user was added', username);
      return sendData(c, 'Added the user', { username }, 201);
    },
  ),
  endpoint(
    {
      ...common,
      method: 'patch',
      path: '/users/:name',
      summary: 'Make a user an administrator or take that away, as AUTH_USERNAME',
      params: z.object({ name: knownName }),
      body: {
        encoding: 'json',
        schema: z.object({ is_admin: z.boolean() }).meta({ id: 'UserRole' }),
        maxBytes: MAX_BYTES,
      },
      responses: {
        200: wrapped('The user. It holds from the next request on.', named),
        403: notOwner,
        404: unknown,
        409: refused('It is AUTH_USERNAME, which is always an administrator.'),
      },
    },
    async ({ params: { name }, body: { is_admin } }, deps: ObservatoryDeps, c) => {
      requireOwner(c, deps, 'users');
      if (isConfiguredUser(deps.config, name))
        throw new AppError('CONFLICT', `user ${name} is AUTH_USERNAME: always an administrator`);
      await setAdmin(deps.db, name, is_admin);
      const what = is_admin ? 'a user became an administrator' : 'an administrator became a user';
      logChange(c, deps, what, name);
      return sendData(c, 'Changed the user', { username: name });
    },
  ),
  endpoint(
    {
      ...common,
      method: 'delete',
      path: '/users/:name',
      summary: 'Remove a user with their gateway key, conversations and reports, as AUTH_USERNAME',
      params: z.object({ name: knownName }),
      responses: {
        200: wrapped('The removed user. Their tokens are no longer valid.', named),
        403: notOwner,
        404: unknown,
        409: refused('It is AUTH_USERNAME, which is set by a variable.'),
      },
    },
    async ({ params: { name } }, deps: ObservatoryDeps, c) => {
      requireOwner(c, deps, 'users');
      rejectConfigured(deps, name);
      await removeUser(deps.db, name);
      logChange(c, deps, 'a user was removed', name);
      return sendData(c, 'Removed the user', { username: name });
    },
  ),
  endpoint(
    {
      ...common,
      method: 'put',
      path: '/users/:name/password',
      summary: "Change your password or, as AUTH_USERNAME, another user's",
      description:
        'All tokens of the user are no longer valid. A browser that changes its own user’s password gets a new cookie. A wrong current password counts as a failed login.',
      params: z.object({ name: knownName }),
      body: {
        encoding: 'json',
        schema: z
          .object({
            password: newPassword,
            current_password: z.string().min(1).max(1024).optional().meta({
              description: 'Required for your own password.',
              format: 'password',
            }),
          })
          .meta({ id: 'NewPassword' }),
        maxBytes: MAX_BYTES,
      },
      responses: {
        200: wrapped('The user.', named),
        403: refused(
          'It is another user’s and you are not AUTH_USERNAME, or the current password is wrong.',
        ),
        404: unknown,
        409: refused('It is the password of AUTH_USERNAME, which is set by a variable.'),
        429: refused(
          'Too many failures (LOGIN_LOCKED) or requests. Retry-After says how long to wait.',
        ),
        503: busy,
      },
    },
    async ({ params: { name }, body }, deps: ObservatoryDeps, c) => {
      const isOwn = name === c.get('user');
      if (!isOwn) requireOwner(c, deps, 'users');
      rejectConfigured(deps, name);
      if (isOwn) await requirePassword(c, deps, body.current_password);
      const hash = await deps.passwords.hash(body.password);
      await changePassword(deps.db, name, hash);
      logChange(c, deps, 'a password was changed', name);
      // The browser's cookie ended with the old password.
      if (isOwn && c.get('hasSessionCookie')) {
        await startSession(c, deps, { username: name, credential: fingerprintHash(hash) });
      }
      return sendData(c, 'Changed the password', { username: name });
    },
  ),
];

function rejectConfigured({ config }: ObservatoryDeps, name: string): void {
  if (!isConfiguredUser(config, name)) return;
  throw new AppError(
    'CONFLICT',
    `user ${name} is set by AUTH_USERNAME and AUTH_PASSWORD: change the variables`,
  );
}

async function requirePassword(
  c: Context<HttpEnv>,
  deps: ObservatoryDeps,
  password: string | undefined,
): Promise<void> {
  if (password === undefined) {
    const message = 'is required for your own password';
    throw new AppError('VALIDATION_ERROR', `current_password ${message}`, {
      details: [{ path: 'current_password', message }],
    });
  }
  const verified = await countAttempt(c, deps, () => deps.passwords.check(c.get('user'), password));
  // Not 401, so that the page does not log the user out.
  if (verified === null) throw new AppError('FORBIDDEN', 'the current password is wrong');
}

function logChange(
  c: Context<HttpEnv>,
  { log }: ObservatoryDeps,
  what: string,
  name: string,
): void {
  log.info(what, { request_id: c.get('requestId'), by: c.get('user'), username: name });
}

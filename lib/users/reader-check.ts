import type { Context, MiddlewareHandler } from 'hono';
import type { HttpConfig } from '../config/http.ts';
import type { IdentityConfig } from '../config/identity.ts';
import { AppError } from '../errors.ts';
import { unauthorized } from '../http/authentication.ts';
import type { Deps } from '../http/deps.ts';
import type { HttpEnv } from '../http/env.ts';
import { createUserCheck, hasToken, isAdministrator } from './user-check.ts';

/** Access to routes open to both users and programs with the internal secret. */
export interface ReaderCheck {
  /** Recognizes a user, but lets every request pass, so that rejected requests are rate limited too. */
  recognizeReader: MiddlewareHandler<HttpEnv>;
  /** Accepts users and callers with the internal secret; others get 401. */
  requireReader: MiddlewareHandler<HttpEnv>;
  /** Like `requireReader`, but applies even if API_REQUIRE_AUTH is false. Runs after `requireReader`. */
  requireIdentity: MiddlewareHandler<HttpEnv>;
  /** Throws FORBIDDEN for users who are not administrators. Runs after `requireIdentity`. */
  requireAdministrator: MiddlewareHandler<HttpEnv>;
}

/** Creates the check. Without JWT_SECRET there are no users, and `requireSecret` alone decides. */
export function createReaderCheck(
  deps: Pick<Deps<HttpConfig & IdentityConfig>, 'config' | 'db' | 'clock'>,
  requireSecret: MiddlewareHandler<HttpEnv>,
): ReaderCheck {
  const users = createUserCheck(deps);
  const hasUsers = deps.config.API_REQUIRE_AUTH && users.tokens !== null;
  return {
    recognizeReader(c, next) {
      const mayBeUser = hasUsers && !c.get('hasInternalSecret') && hasToken(c);
      return mayBeUser ? users.recognizeUser(c, next) : next();
    },
    requireReader(c, next) {
      return isKnown(c) ? users.requireUser(c, next) : requireSecret(c, next);
    },
    async requireIdentity(c, next) {
      if (c.get('hasInternalSecret') || c.get('user') !== undefined) return next();
      if (users.tokens === null || !hasToken(c)) throw unauthorized();
      // Not recognized yet: API_REQUIRE_AUTH is false.
      await users.recognizeUser(c, async () => undefined);
      if (!isKnown(c)) throw unauthorized();
      await users.requireUser(c, next);
    },
    async requireAdministrator(c, next) {
      if (c.get('hasInternalSecret') || (await isAdministrator(deps, c.get('user')))) return next();
      throw new AppError(
        'FORBIDDEN',
        'only an administrator may do this: log in as AUTH_USERNAME, or ask that user to make you one',
      );
    },
  };
}

/** Whether a user was recognized, or could not be checked. */
function isKnown(c: Context<HttpEnv>): boolean {
  return c.get('user') !== undefined || c.get('userError') !== undefined;
}

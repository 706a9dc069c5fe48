import type { MiddlewareHandler } from 'hono';
import type { HttpConfig } from '../config/http.ts';
import type { IdentityConfig } from '../config/identity.ts';
import type { Deps } from '../deps.ts';
import type { HttpEnv } from '../http/env.ts';
import { createUserCheck, hasToken } from './user-check.ts';

/** Access to what programs with the internal secret and users may both ask for. */
export interface ReaderCheck {
  /** Recognizes a user, and lets every request pass: it is counted before it is refused. */
  recognizeReader: MiddlewareHandler<HttpEnv>;
  /** Lets pass who has the internal secret or is a user; others get 401. */
  requireReader: MiddlewareHandler<HttpEnv>;
}

/** Without JWT_SECRET there are no users, and only the internal secret, which `requireSecret` checks, gives access. */
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
      const isKnown = c.get('user') !== undefined || c.get('userError') !== undefined;
      return isKnown ? users.requireUser(c, next) : requireSecret(c, next);
    },
  };
}

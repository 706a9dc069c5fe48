import type { Gateway } from '../gateway/gateway.ts';
import type { ObservatoryConfig } from '../platform/config/observatory.ts';
import type { Deps } from '../platform/deps.ts';
import type { UserCheck } from './authentication.ts';
import type { LoginLockout } from './login-lockout.ts';
import type { CheckPassword } from './password-check.ts';
import type { Tokens } from './tokens.ts';

/** Rejects when the service API cannot be asked. */
export type AskServiceApi = (signal: AbortSignal) => Promise<Response>;

/** What the endpoints of the observatory are mounted with. */
export interface ObservatoryHandles extends Deps<ObservatoryConfig> {
  /** Null while JWT_SECRET is unset. */
  tokens: Tokens | null;
  users: UserCheck;
  lockout: LoginLockout;
  checkPassword: CheckPassword;
  gateway: Gateway;
  /** Asks the service API of the same deployment for its /health. */
  askServiceApi: AskServiceApi;
}

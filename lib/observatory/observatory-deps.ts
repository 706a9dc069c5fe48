import type { ObservatoryConfig } from '../config/observatory.ts';
import type { Deps } from '../deps.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { Log } from '../log.ts';
import type { LoginCodes } from '../users/login-codes.ts';
import type { UserCheck } from '../users/user-check.ts';
import type { ChatDeps } from './chat/chat-deps.ts';
import type { LoginLockout } from './login-lockout.ts';
import type { CheckPassword } from './password-check.ts';
import type { ReadinessFaults } from './readiness-faults.ts';
import type { AskServiceApi } from './service-api.ts';

/** What the endpoints of the observatory are mounted with. */
export interface ObservatoryDeps extends Deps<ObservatoryConfig> {
  users: UserCheck;
  /** Null where none is ever issued. */
  loginCodes: LoginCodes | null;
  lockout: LoginLockout;
  checkPassword: CheckPassword;
  gateway: Gateway;
  chat: ChatDeps;
  /** Asks the service API of the same deployment for its /health. */
  askServiceApi: AskServiceApi;
  /** What /observatory/ready tells of, found out once for all who ask at the same time. */
  findFaults(): Promise<ReadinessFaults>;
  /** Warns at most once a minute. */
  warnNotReady: Log['warn'];
}

import type { ObservatoryConfig } from '../../config/observatory.ts';
import type { Gateway } from '../../gateway/gateway.ts';
import type { Deps } from '../../http/deps.ts';
import type { Log } from '../../log/log.ts';
import type { LoginCodes } from '../../users/login-codes.ts';
import type { UserCheck } from '../../users/user-check.ts';
import type { ChatDeps } from './chat-deps.ts';
import type { LoginLockout } from './login-lockout.ts';
import type { Passwords } from './passwords.ts';
import type { AskServiceApi, ReadinessFaults } from './readiness.ts';

/** The dependencies of the endpoints of the observatory. */
export interface ObservatoryDeps extends Deps<ObservatoryConfig> {
  users: UserCheck;
  /** Null where no codes are issued. */
  loginCodes: LoginCodes | null;
  lockout: LoginLockout;
  passwords: Passwords;
  gateway: Gateway;
  chat: ChatDeps;
  /** Asks the service API of the same deployment for its /health. */
  askServiceApi: AskServiceApi;
  /** Whether the MCP server of this installation has a token. */
  hasMcpToken: boolean;
  /** Why the archives cannot be read here; null if they can. */
  explainMissingArchives(): Promise<string | null>;
  /** Checks what /observatory/ready reports, once for concurrent callers. */
  findFaults(): Promise<ReadinessFaults>;
  /** Warns at most once a minute. */
  warnNotReady: Log['warn'];
}

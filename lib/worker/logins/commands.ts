import { AppError } from '../../errors.ts';
import { createApp } from './app-create.ts';
import { showAuthStatus } from './auth-status.ts';
import type { LoginCommand } from './login-commands.ts';
import { loginGateway } from './login-gateway.ts';
import { loginGitHost } from './login-git-host.ts';
import { logOut } from './logout.ts';
import { loginCommand } from './messages.ts';
import { readSecrets } from './refresh.ts';
import type { LoginSession } from './session.ts';

/** Runs a command and returns its exit code. Throws AppError for problems that the user can fix. */
export async function runLoginCommand(
  session: LoginSession,
  command: LoginCommand,
): Promise<number> {
  switch (command.name) {
    case 'login github':
      return loginGitHost(session, command);
    case 'login gateway':
      return loginGateway(session, command);
    case 'app create':
      return createApp(session, command);
    case 'auth status':
      return showAuthStatus(session, command);
    case 'auth token gateway':
      return printGatewayKey(session);
    case 'logout':
      return logOut(session, command);
  }
}

/** `auth token gateway` prints the key and nothing else. */
async function printGatewayKey({ store, person }: LoginSession): Promise<number> {
  const name = 'gateway:default';
  const login = await store.find(name);
  if (login === null) {
    throw new AppError('UNAUTHORIZED', `not logged in to the model gateway: ${loginCommand(name)}`);
  }
  person.print((await readSecrets(name, login, store)).token);
  return 0;
}

import { RequestError } from '@octokit/request-error';
import { cleanText } from '../../platform/clean-text.ts';
import { AppError } from '../../platform/errors.ts';
import { type Installation, listInstallations, readAccount } from '../git-host/account.ts';
import { createGitHostClient, type GitHostClient } from '../git-host/client.ts';
import { explainHostFault } from '../git-host/faults.ts';
import { type AppRecord, readApp } from './app-file.ts';
import type { LoginCommand } from './arguments.ts';
import { authorizeDevice } from './device-flow.ts';
import { importToken } from './import-token.ts';
import { describeStore, type NewLogin, storesFor } from './login-store.ts';
import { describeLogin } from './messages.ts';
import type { LoginSession } from './session.ts';

type GitLoginCommand = Extract<LoginCommand, { name: 'login github' }>;

/** `login github`. Returns the exit code; throws AppError for what a person can mend. */
export async function loginGitHost(
  session: LoginSession,
  command: GitLoginCommand,
): Promise<number> {
  const { store, person, connection } = session;
  const app = command.importToken ? null : await readApp(session.folder, person.say);
  const clientId = command.importToken ? null : findClientId(session, command.clientId, app);
  // Before anybody is asked for anything that could then not be kept.
  await store.rehearse();
  const login = clientId === null ? await takeToken(session) : await logInToApp(session, clientId);
  const kept = await store.save(command.login, login, storesFor(command.store));
  const who = login.facts.account === null ? '' : ` as ${login.facts.account}`;
  const { host } = new URL(connection.hostUrl);
  person.print(
    `Logged in to ${host}${who}: ${describeLogin(command.login)}, kept in ${describeStore(kept, store.path)}.`,
  );
  adviseOnEnvironment(session, command);
  if (command.login === 'github:destination' && clientId !== null) {
    person.say(
      'An app of `app create` can only read: to push, import a token that can write (--import-token).',
    );
  }
  if (clientId !== null)
    await showInstallations(
      session,
      login.secrets.token,
      installPage(app, clientId, connection.hostUrl),
    );
  return 0;
}

/** From the option, else GIT_APP_CLIENT_ID, else app.json (decisions 7). Exit code 2 without one. */
function findClientId(
  { config, connection }: LoginSession,
  option: string | null,
  app: AppRecord | null,
): string {
  const given = option ?? config.GIT_APP_CLIENT_ID;
  if (given !== undefined) return given;
  if (app !== null && app.host === connection.hostUrl) return app.client_id;
  throw new AppError(
    'BAD_REQUEST',
    'no app client id: set GIT_APP_CLIENT_ID, make an app with `npm run worker -- app create`, or import a token with --import-token',
  );
}

async function logInToApp(session: LoginSession, clientId: string): Promise<NewLogin> {
  const { connection, person } = session;
  const granted = await authorizeDevice(session, clientId);
  return {
    facts: {
      kind: 'app',
      account: await accountOf(granted.token, session),
      host: connection.hostUrl,
      client_id: clientId,
      expires_at: granted.expiresAt,
      refresh_expires_at: granted.refreshExpiresAt,
    },
    secrets: { token: granted.token, refresh_token: granted.refreshToken },
  };

  /** The login is worth keeping also while the API does not answer. */
  async function accountOf(token: string, from: LoginSession): Promise<string | null> {
    try {
      return cleanText(await readAccount(clientWith(token, from)), 100);
    } catch (error) {
      from.signal.throwIfAborted();
      person.say(
        `The account could not be read: ${explainHostFault(error, connection.apiUrl).message}`,
      );
      return null;
    }
  }
}

async function takeToken(session: LoginSession): Promise<NewLogin> {
  const { connection, signal } = session;
  const token = await importToken(session);
  try {
    const account = cleanText(await readAccount(clientWith(token, session)), 100);
    const facts = {
      kind: 'token' as const,
      account,
      host: connection.hostUrl,
      client_id: null,
      expires_at: null,
      refresh_expires_at: null,
    };
    return { facts, secrets: { token, refresh_token: null } };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof RequestError && error.status === 401) {
      throw new AppError('UNAUTHORIZED', 'the git host does not accept the token: import another');
    }
    throw explainHostFault(error, connection.apiUrl);
  }
}

function adviseOnEnvironment({ config, person }: LoginSession, { login }: GitLoginCommand): void {
  if (login === 'github:destination') return;
  const unused = (['GIT_TOKEN_PERSONAL', 'GIT_TOKEN_PRIVATE'] as const).filter(
    (name) => config[name],
  );
  if (unused.length === 0) return;
  person.say(
    `${unused.join(' and ')} in the environment will not be used while this login is stored.`,
  );
}

/** Lists what the app can reach; the login is stored, so that a failure here is only said. */
async function showInstallations(
  session: LoginSession,
  token: string,
  page: string,
): Promise<void> {
  const { person, connection, signal } = session;
  let installations: Installation[];
  try {
    installations = await listInstallations(clientWith(token, session));
  } catch (error) {
    signal.throwIfAborted();
    const { message } = explainHostFault(error, connection.apiUrl);
    person.say(`The installations of the app could not be listed: ${message}`);
    return;
  }
  if (installations.length > 0) {
    person.print('The app is installed on:');
    for (const { account, accountType, selection, isSuspended } of installations) {
      const reach = selection === 'selected' ? 'selected repositories' : 'all repositories';
      const state = isSuspended ? 'suspended: it reads nothing there' : reach;
      person.print(`  ${cleanText(`${account} (${accountType}, ${state})`, 200)}`);
    }
    return;
  }
  person.say(
    `The app is not installed on any accessible account: install it at ${page}, or set GIT_DISCOVERY=accounts.`,
  );
}

/** Where the app is installed: its slug is known only for the app that `app create` made. */
function installPage(app: AppRecord | null, clientId: string, hostUrl: string): string {
  const isKnown = app !== null && app.client_id === clientId;
  return isKnown ? `${hostUrl}/apps/${app.slug}/installations/new` : "the app's page";
}

function clientWith(token: string, { connection, person }: LoginSession): GitHostClient {
  return createGitHostClient({ connection, token: async () => token, notify: person.say });
}

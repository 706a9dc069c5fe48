import { RequestError } from '@octokit/request-error';
import { AppError } from '../../errors.ts';
import { cleanText } from '../../text/clean-text.ts';
import { type AppInstallation, listInstallations, readAccount } from '../hosts/account.ts';
import { createGitHostClient, type GitHostClient } from '../hosts/client.ts';
import { explainHostError } from '../hosts/errors.ts';
import { type AppRecord, readApp } from './app-file.ts';
import { authorizeDevice } from './device-flow.ts';
import { importToken } from './import-token.ts';
import { type NewLogin, plainLogin } from './login.ts';
import type { LoginCommand } from './login-commands.ts';
import { describeStore, storesFor } from './login-store.ts';
import { describeLogin } from './messages.ts';
import type { LoginSession } from './session.ts';

type GitLoginCommand = Extract<LoginCommand, { name: 'login github' }>;

/** `login github`. Returns the exit code. Throws AppError for problems that the user can fix. */
export async function loginGitHost(
  session: LoginSession,
  command: GitLoginCommand,
): Promise<number> {
  const { store, person, connection } = session;
  const app = command.importToken ? null : await readApp(session.folder, person.say);
  const clientId = command.importToken ? null : findClientId(session, command.clientId, app);
  // Fail before the user logs in for nothing.
  await store.rehearse();
  const login = await (clientId === null ? takeToken(session) : logInToApp(session, clientId));
  const kept = await store.save(command.login, login, storesFor(command.store));
  const who = login.facts.account === null ? '' : ` as ${login.facts.account}`;
  const { host } = new URL(connection.hostUrl);
  person.print(
    `Logged in to ${host}${who}: ${describeLogin(command.login)}, kept in ${describeStore(kept, store.path)}.`,
  );
  adviseOnEnvironment(session, command);
  if (clientId === null) return 0;
  if (command.login === 'github:destination') {
    person.say(
      'An app from `app create` can only read: to push, import a token that can write (--import-token).',
    );
  }
  const page = installPage(app, clientId, connection.hostUrl);
  await showInstallations(session, login.secrets.token, page);
  return 0;
}

/** The client id from the option, else GIT_APP_CLIENT_ID, else app.json. Throws BAD_REQUEST without one. */
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
    'no app client id: set GIT_APP_CLIENT_ID, create an app with `npm run worker -- app create`, or import a token with --import-token',
  );
}

async function logInToApp(session: LoginSession, clientId: string): Promise<NewLogin> {
  const { connection, person, signal } = session;
  const { token, refresh_token, ...times } = await authorizeDevice(session, clientId);
  let account: string | null = null;
  try {
    account = cleanText(await readAccount(clientWith(token, session)), 100);
  } catch (error) {
    signal.throwIfAborted();
    // Keep the login even if the API does not respond.
    const { message } = explainHostError(error, connection.apiUrl);
    person.say(`The account could not be read: ${message}`);
  }
  return {
    facts: { kind: 'app', account, host: connection.hostUrl, client_id: clientId, ...times },
    secrets: { token, refresh_token },
  };
}

async function takeToken(session: LoginSession): Promise<NewLogin> {
  const { connection, signal } = session;
  const token = await importToken(session);
  try {
    const account = cleanText(await readAccount(clientWith(token, session)), 100);
    return plainLogin({ kind: 'token', account, host: connection.hostUrl }, token);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof RequestError && error.status === 401) {
      throw new AppError('UNAUTHORIZED', 'the git host rejects the token: import another one');
    }
    throw explainHostError(error, connection.apiUrl);
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

/** Lists what the app can access. The login is already stored, so a failure is only reported. */
async function showInstallations(
  session: LoginSession,
  token: string,
  page: string,
): Promise<void> {
  const { person, connection, signal } = session;
  let installations: AppInstallation[];
  try {
    installations = await listInstallations(clientWith(token, session));
  } catch (error) {
    signal.throwIfAborted();
    const { message } = explainHostError(error, connection.apiUrl);
    person.say(`The installations of the app could not be listed: ${message}`);
    return;
  }
  if (installations.length > 0) {
    person.print('The app is installed on:');
    for (const { account, accountType, selection, isSuspended } of installations) {
      const reach = selection === 'selected' ? 'selected repositories' : 'all repositories';
      const state = isSuspended ? 'suspended: it cannot read anything there' : reach;
      person.print(`  ${cleanText(`${account} (${accountType}, ${state})`, 200)}`);
    }
    return;
  }
  person.say(
    `The app is not installed on any accessible account: install it at ${page}, or set GIT_DISCOVERY=accounts.`,
  );
}

/** Where to install the app. Its slug is only known if `app create` created it. */
function installPage(app: AppRecord | null, clientId: string, hostUrl: string): string {
  const isKnown = app !== null && app.client_id === clientId;
  return isKnown ? `${hostUrl}/apps/${app.slug}/installations/new` : "the app's page";
}

function clientWith(token: string, { connection, person }: LoginSession): GitHostClient {
  return createGitHostClient({ connection, token: async () => token, notify: person.say });
}

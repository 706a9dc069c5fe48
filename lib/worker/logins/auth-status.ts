import { createKeychain, KeychainError, withoutSession } from '../base/keychain.ts';
import { readApp } from './app-file.ts';
import {
  type LoginFacts,
  type LoginName,
  loginNames,
  type StoredLogin,
  type StoreName,
} from './login.ts';
import type { LoginCommand } from './login-commands.ts';
import { keychainEntry } from './login-store.ts';
import { describeLogin, loginCommand } from './messages.ts';
import { hasExpired, whyNotFor } from './refresh.ts';
import type { LoginSession } from './session.ts';

/** A login without its secrets. */
interface LoginStatus extends Omit<LoginFacts, 'client_id'> {
  login: LoginName;
  store: StoreName;
  /** Why the secret cannot be read now; null if it can. */
  unreadable: string | null;
  /** Why the user must log in again; null if not. */
  unusable: string | null;
  /** Whether a run started by cron could read it. */
  scheduled: boolean;
}

/** What `auth status --json` prints. */
export interface AuthStatus {
  logins: LoginStatus[];
  environment_tokens: { name: string; used: boolean }[];
  app: { slug: string; client_id: string; host: string; path: string } | null;
  discovery: 'auto' | 'accounts';
  credentials: string;
}

/** `auth status`. Returns the exit code. */
export async function showAuthStatus(
  session: LoginSession,
  { check, json }: Extract<LoginCommand, { name: 'auth status' }>,
): Promise<number> {
  const status = await readAuthStatus(session);
  session.person.print(json ? JSON.stringify(status, null, 2) : describe(status));
  return check ? checkGitAccess(status) : 0;
}

async function readAuthStatus(session: LoginSession): Promise<AuthStatus> {
  const { config, store, folder, person } = session;
  const stored = await store.list();
  const logins: LoginStatus[] = [];
  for (const name of loginNames) {
    const login = stored[name];
    if (login !== undefined) logins.push(await readLoginStatus(session, name, login));
  }
  const app = await readApp(folder, person.say);
  const source = stored['github:source'];
  const tokens = (['GIT_TOKEN_PERSONAL', 'GIT_TOKEN_PRIVATE'] as const)
    .filter((name) => config[name] !== undefined)
    .map((name) => ({ name, used: source === undefined }));
  const byAccounts = source === undefined ? tokens.length > 0 : source.kind !== 'app';
  return {
    logins,
    environment_tokens: tokens,
    app: app && { slug: app.slug, client_id: app.client_id, host: app.host, path: folder },
    discovery: byAccounts ? 'accounts' : config.GIT_DISCOVERY,
    credentials: store.path,
  };
}

async function readLoginStatus(
  session: LoginSession,
  name: LoginName,
  login: StoredLogin,
): Promise<LoginStatus> {
  const { kind, account, host, store, expires_at, refresh_expires_at } = login;
  const facts = {
    ...{ login: name, kind, account, host, store, expires_at, refresh_expires_at },
    unusable: whyUnusable(session, name, login),
  };
  if (login.store === 'file') return { ...facts, unreadable: null, scheduled: true };
  const unreadable = await errorOf(() => session.store.secretsOf(name, login));
  const scheduled = unreadable === null && (await canScheduledRunRead(session, name));
  return { ...facts, unreadable, scheduled };
}

function whyUnusable(
  { connection, clock }: LoginSession,
  name: LoginName,
  login: StoredLogin,
): string | null {
  if (name === 'gateway:default') return null;
  const why = whyNotFor(connection.hostUrl, login);
  return why ?? (hasExpired(login, clock.now()) ? 'it has expired' : null);
}

/** Tries to read it as cron would: without the variables of a desktop session. */
async function canScheduledRunRead(session: LoginSession, name: LoginName): Promise<boolean> {
  const keychain = createKeychain(withoutSession(session.environment), session.clock);
  const entry = keychainEntry(name, session.folder);
  let found: string | null = null;
  const error = await errorOf(async () => {
    found = await keychain.read(entry);
  });
  return error === null && found !== null;
}

async function errorOf(work: () => Promise<unknown>): Promise<string | null> {
  try {
    await work();
    return null;
  } catch (error) {
    if (error instanceof KeychainError) return error.message;
    throw error;
  }
}

/**
 * Returns 0 if a git login or token can be used, 1 if it cannot be read, 4 if there is none or the user must
 * log in again.
 */
function checkGitAccess({ logins, environment_tokens: tokens }: AuthStatus): number {
  const source = logins.find(({ login }) => login === 'github:source');
  const any = source ?? logins.find(({ login }) => login === 'github:destination');
  if (source === undefined && tokens.length > 0) return 0;
  if (any === undefined || any.unusable !== null) return 4;
  return any.unreadable === null ? 0 : 1;
}

function describe(status: AuthStatus): string {
  const { logins, environment_tokens: tokens, app, discovery, credentials } = status;
  const lines = logins.flatMap(describeLoginStatus);
  if (logins.length === 0) lines.push(`No login is stored. ${loginCommand('github:source')}`);
  for (const { name, used } of tokens) {
    lines.push(`${name} is set${used ? '' : ', but not used while a source login is stored'}`);
  }
  lines.push(
    app === null
      ? 'No app.json: create an app with npm run worker -- app create'
      : `App ${app.slug}, client id ${app.client_id}, on ${app.host}`,
  );
  lines.push(`Discovery: ${discovery}`, `Logins are listed in ${credentials}`);
  return lines.join('\n');
}

function describeLoginStatus(status: LoginStatus): string[] {
  const { login, kind, account, host, store, expires_at: expires, scheduled } = status;
  const { refresh_expires_at: refresh, unreadable, unusable } = status;
  const who = account === null ? '' : ` as ${account}`;
  return [
    `${describeLogin(login)} (${login}): ${host}${who}, ${kind}, in the ${store}`,
    ...(expires === null ? [] : [`  token until ${expires}`]),
    ...(refresh === null ? [] : [`  renewed automatically until ${refresh}`]),
    ...(unreadable === null ? [] : [`  cannot be read now: ${unreadable}`]),
    ...(unusable === null
      ? []
      : [`  cannot be used: ${unusable}. Log in again: ${loginCommand(login)}`]),
    scheduled
      ? '  a scheduled run can read it'
      : '  a scheduled run cannot read it: log in again with --store file',
  ];
}

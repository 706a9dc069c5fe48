import { hash, randomBytes, randomInt } from 'node:crypto';
import { exchangeCode } from '../../gateway/exchange.ts';
import type { GatewayFailure } from '../../gateway/failure.ts';
import { createGatewayTransport, gatewayAuthUrl } from '../../gateway/transport.ts';
import { type GatewayConfig, gatewayVariables } from '../../platform/config/gateway.ts';
import { ConfigError, readConfig } from '../../platform/config/read.ts';
import { secureUrl } from '../../platform/config/values.ts';
import { secretsEqual } from '../../platform/crypto.ts';
import { AppError } from '../../platform/errors.ts';
import type { LoginCommand, StoreChoice } from './arguments.ts';
import { serveLocalPage } from './local-page.ts';
import { describeStore, type NewLogin, storesFor } from './login-store.ts';
import type { LoginSession } from './session.ts';

type GatewayLoginCommand = Extract<LoginCommand, { name: 'login gateway' }>;

/** One attempt of the PKCE flow (S256): the verifier stays here until the code is exchanged. */
interface Attempt {
  config: GatewayConfig;
  verifier: string;
  challenge: string;
}

/** `login gateway`. Returns the exit code; throws AppError for what a person can mend. */
export async function loginGateway(
  session: LoginSession,
  { paste, store: choice }: GatewayLoginCommand,
): Promise<number> {
  const { person, store } = session;
  const attempt = begin(readConfig(gatewayVariables, session.environment));
  // Before a key is made that could then not be kept.
  await store.rehearse();
  const kept = await (paste ? logInByPaste : logInByPage)(session, attempt, choice);
  person.print(`Logged in to the model gateway: key kept in ${kept}.`);
  return 0;
}

function begin(config: GatewayConfig): Attempt {
  for (const name of ['GATEWAY_BASE_URL', 'GATEWAY_AUTHORIZE_URL'] as const) {
    checkSecure(config[name], name);
  }
  checkSecure(gatewayAuthUrl(config), 'GATEWAY_AUTH_URL');
  const verifier = randomBytes(32).toString('base64url');
  return { config, verifier, challenge: hash('sha256', verifier, 'base64url') };
}

function checkSecure(address: string, name: string): void {
  if (secureUrl.safeParse(address).success) return;
  throw new ConfigError(`${name} must be an https URL (http to loopback only) to log in`);
}

/** Waits on a page of this machine for the gateway to send the browser back. */
async function logInByPage(
  session: LoginSession,
  attempt: Attempt,
  choice: StoreChoice,
): Promise<string> {
  const { person, clock, signal } = session;
  const over = new AbortController();
  let offered: Promise<void> = Promise.resolve();
  return serveLocalPage({
    clock,
    signal,
    start: null,
    ready: ({ callback }) => {
      const address = authorizeUrl(attempt, callback);
      person.say(`Open ${person.strong(address)}`);
      const message = 'Open the page in your browser?';
      const waiting = 'Waiting for the browser to come back.';
      offered = person.offer({ message, address, copied: null, waiting }, over.signal);
    },
    finish: async ({ query }) => {
      const value = await keepKey(session, attempt, query.get('code'), choice);
      const lines = ['The key is stored on your machine. You can close this page.'];
      return { page: { status: 200, title: 'Logged in to the model gateway', lines }, value };
    },
  }).finally(async () => {
    over.abort();
    await offered;
  });
}

/** For a browser elsewhere: it ends at an address of this machine that it cannot reach, which is pasted. */
async function logInByPaste(
  session: LoginSession,
  attempt: Attempt,
  choice: StoreChoice,
): Promise<string> {
  const { person } = session;
  const state = randomBytes(24).toString('base64url');
  const port = randomInt(49_152, 65_536);
  const callback = `http://127.0.0.1:${port}/callback?state=${state}`;
  person.say(`Open ${person.strong(authorizeUrl(attempt, callback))}`);
  person.say(
    'It ends at an address of 127.0.0.1 that does not load. Paste that address, or the code in it.',
  );
  const pasted = await person.askSecret('Address or code');
  return keepKey(session, attempt, readPasted(pasted, state), choice);
}

function authorizeUrl({ config, challenge }: Attempt, callback: string): string {
  const address = new URL(config.GATEWAY_AUTHORIZE_URL);
  address.searchParams.set('callback_url', callback);
  address.searchParams.set('code_challenge', challenge);
  address.searchParams.set('code_challenge_method', 'S256');
  return address.href;
}

function readPasted(text: string, state: string): string | null {
  if (!/^https?:/i.test(text)) return text;
  const query = URL.canParse(text) ? new URL(text).searchParams : new URLSearchParams();
  if (secretsEqual(query.get('state') ?? '', state)) return query.get('code');
  throw new AppError('UNAUTHORIZED', 'the pasted address has a wrong state: log in again');
}

/** Exchanges the code and stores the key; returns where, in words. */
async function keepKey(
  session: LoginSession,
  { config, verifier }: Attempt,
  code: string | null,
  choice: StoreChoice,
): Promise<string> {
  if (code === null || !/^[\x21-\x7e]{1,2000}$/.test(code)) {
    throw new AppError('UNAUTHORIZED', 'the gateway gave no code: no key was allowed');
  }
  const { store, signal } = session;
  const key = await exchange(session, config, { code, codeVerifier: verifier });
  signal.throwIfAborted();
  const login: NewLogin = {
    facts: {
      kind: 'key',
      account: null,
      host: new URL(config.GATEWAY_BASE_URL).origin,
      client_id: null,
      expires_at: null,
      refresh_expires_at: null,
    },
    secrets: { token: key, refresh_token: null },
  };
  const kept = await store.save('gateway:default', login, storesFor(choice));
  return describeStore(kept, store.path);
}

async function exchange(
  session: LoginSession,
  config: GatewayConfig,
  given: { code: string; codeVerifier: string },
): Promise<string> {
  try {
    return await exchangeCode(
      createGatewayTransport({ ...session, config }),
      gatewayAuthUrl(config),
      given,
    );
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    // Without its cause, in which the gateway may repeat the code.
    const { outcome } = (error.cause ?? {}) as Partial<GatewayFailure>;
    const answer = typeof outcome === 'number' ? `it answered ${outcome}` : outcome;
    throw new AppError(error.code, `${error.message}${answer ? ` (${answer})` : ''}`);
  }
}

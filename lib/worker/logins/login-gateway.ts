import { hash, randomBytes, randomInt } from 'node:crypto';
import { type GatewayConfig, gatewayVariables } from '../../config/gateway.ts';
import { readConfig } from '../../config/read.ts';
import { AppError } from '../../errors.ts';
import { exchangeCode } from '../../gateway/code-exchange.ts';
import type { GatewayFailure } from '../../gateway/gateway-failure.ts';
import { createGatewayTransport, gatewayAuthUrl } from '../../gateway/transport.ts';
import { secretsEqual } from '../../security/crypto.ts';
import { serveLocalPage } from './local-page.ts';
import { plainLogin } from './login.ts';
import type { KeychainChoice, LoginCommand } from './login-commands.ts';
import { describeStore, storesFor } from './login-store.ts';
import type { LoginSession } from './session.ts';

/** One attempt of the PKCE flow (S256): the verifier stays here until the code is exchanged. */
interface Attempt {
  session: LoginSession;
  config: GatewayConfig;
  verifier: string;
  choice: KeychainChoice;
}

/** `login gateway`. Returns the exit code. Throws AppError for problems that the user can fix. */
export async function loginGateway(
  session: LoginSession,
  { paste, store: choice }: Extract<LoginCommand, { name: 'login gateway' }>,
): Promise<number> {
  const config = readConfig(gatewayVariables, session.environment);
  const verifier = randomBytes(32).toString('base64url');
  // Fail before creating a key that could not be stored.
  await session.store.rehearse();
  const place = await (paste ? logInByPaste : logInByPage)({ session, config, verifier, choice });
  session.person.print(`Logged in to the model gateway: key kept in ${place}.`);
  return 0;
}

/** Waits on a local page for the gateway's redirect. */
function logInByPage(attempt: Attempt): Promise<string> {
  return serveLocalPage({
    ...attempt.session,
    start: null,
    opened: ({ callback }) => authorizeUrl(attempt, callback),
    finish: async (query) => ({
      value: await keepKey(attempt, query.get('code')),
      title: 'Logged in to the model gateway',
      line: 'The key is stored on your machine. You can close this page.',
    }),
  });
}

/**
 * For a browser on another machine: it is redirected to a loopback address that does not load there, which
 * the user pastes.
 */
async function logInByPaste(attempt: Attempt): Promise<string> {
  const { person } = attempt.session;
  const state = randomBytes(24).toString('base64url');
  const callback = `http://127.0.0.1:${randomInt(49_152, 65_536)}/callback?state=${state}`;
  person.say(`Open ${person.strong(authorizeUrl(attempt, callback))}`);
  person.say('The last page, on 127.0.0.1, will not load. Paste its address, or the code in it.');
  return keepKey(attempt, readPasted(await person.askSecret('Address or code'), state));
}

function authorizeUrl({ config, verifier }: Attempt, callback: string): string {
  const address = new URL(config.GATEWAY_AUTHORIZE_URL);
  address.searchParams.set('callback_url', callback);
  address.searchParams.set('code_challenge', hash('sha256', verifier, 'base64url'));
  address.searchParams.set('code_challenge_method', 'S256');
  return address.href;
}

function readPasted(text: string, state: string): string | null {
  if (!/^https?:/i.test(text)) return text;
  const query = URL.parse(text)?.searchParams ?? new URLSearchParams();
  if (secretsEqual(query.get('state') ?? '', state)) return query.get('code');
  throw new AppError('UNAUTHORIZED', 'the pasted address has a wrong state: log in again');
}

/** Exchanges the code and stores the key. Returns a description of where. */
async function keepKey(attempt: Attempt, code: string | null): Promise<string> {
  if (code === null || !/^[\x21-\x7e]{1,2000}$/.test(code)) {
    throw new AppError('UNAUTHORIZED', 'the gateway sent no code: the login was not authorized');
  }
  const { session, config, choice } = attempt;
  const key = await exchange(attempt, code);
  session.signal.throwIfAborted();
  const host = new URL(config.GATEWAY_BASE_URL).origin;
  const login = plainLogin({ kind: 'key', account: null, host }, key);
  const kept = await session.store.save('gateway:default', login, storesFor(choice));
  return describeStore(kept, session.store.path);
}

async function exchange({ session, config, verifier }: Attempt, code: string): Promise<string> {
  try {
    const transport = createGatewayTransport({ ...session, config });
    return await exchangeCode(transport, gatewayAuthUrl(config), { code, codeVerifier: verifier });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    // Without the cause, which may contain the code.
    const { outcome } = (error.cause ?? {}) as Partial<GatewayFailure>;
    const answer = typeof outcome === 'number' ? `it answered ${outcome}` : outcome;
    throw new AppError(error.code, `${error.message}${answer ? ` (${answer})` : ''}`);
  }
}

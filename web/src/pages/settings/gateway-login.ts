import * as settings from '../../api/settings.ts';

// The window of the gateway leads back to a page of ours, which has the code. The page that opened the window has
// the verifier, which never leaves its session storage but for the server.

const KEY = 'gateway-login';

interface Login {
  state: string;
  verifier: string;
}

type Message =
  | { type: 'code'; state: string; code: string }
  /** `error` is null if it worked. */
  | { type: 'done'; state: string; error: string | null };

/** Where the window starts: a gateway's page that leads back to us. A browser needs https to make this. */
export async function startLogin(authorizeUrl: string): Promise<string> {
  const login: Login = { state: random(), verifier: random() };
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(login.verifier));
  sessionStorage.setItem(KEY, JSON.stringify(login));
  const address = new URL(authorizeUrl);
  // In the path: not every gateway keeps a query that is there already.
  const callback = new URL(`/app/settings/gateway/${login.state}`, window.location.origin);
  address.searchParams.set('callback_url', callback.href);
  address.searchParams.set('code_challenge', toBase64Url(new Uint8Array(hash)));
  address.searchParams.set('code_challenge_method', 'S256');
  return address.href;
}

/** A code that still comes is then worth nothing. */
export function forgetLogin(): void {
  sessionStorage.removeItem(KEY);
}

/** Finishes the login when its window has the code, and calls `onDone` with what went wrong, or null. */
export function awaitCode(onDone: (error: string | null) => void): () => void {
  const channel = new BroadcastChannel(KEY);
  channel.onmessage = async ({ data }: MessageEvent<Message>) => {
    if (data.type !== 'code') return;
    const error = await exchange(data);
    if (error === undefined) return;
    channel.postMessage({ type: 'done', state: data.state, error } satisfies Message);
    onDone(error);
  };
  return () => channel.close();
}

/**
 * Hands a code to the page that started the login, which may be this one, and calls `onDone` with what went wrong,
 * or null.
 */
export function deliverCode(
  state: string,
  code: string,
  onDone: (error: string | null) => void,
): () => void {
  const channel = new BroadcastChannel(KEY);
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if (data.type === 'done' && data.state === state) onDone(data.error);
  };
  void exchange({ state, code }).then((error) => {
    if (error !== undefined) onDone(error);
    else channel.postMessage({ type: 'code', state, code } satisfies Message);
  });
  return () => channel.close();
}

/** Undefined if this page has not started the login of that state, or has used it already. */
async function exchange(of: { state: string; code: string }): Promise<string | null | undefined> {
  const kept = sessionStorage.getItem(KEY);
  const login = kept === null ? null : (JSON.parse(kept) as Login);
  if (login === null || login.state !== of.state) return undefined;
  forgetLogin();
  try {
    await settings.connectGateway(of.code, login.verifier);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** 43 characters. */
function random(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}

function toBase64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

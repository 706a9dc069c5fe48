import { pagePath } from '../../api/base-path.ts';
import * as settings from '../../api/settings.ts';

// The gateway's window returns to a page of ours, which receives the code. The page that opened the window has the
// verifier, which it keeps in its session storage and sends only to the server.

const KEY = 'gateway-login';

interface Login {
  state: string;
  verifier: string;
}

type Message =
  | { type: 'code'; state: string; code: string }
  /** `error` is null if the key was connected. */
  | { type: 'done'; state: string; error: string | null };

/** Starts a login over https. Returns the address of the gateway's page, which will return to a page of ours. */
export async function startLogin(authorizeUrl: string): Promise<string> {
  const login: Login = { state: random(), verifier: random() };
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(login.verifier));
  sessionStorage.setItem(KEY, JSON.stringify(login));
  const address = new URL(authorizeUrl);
  // The state is in the path, because not every gateway keeps the query of a callback address.
  const callback = new URL(`${pagePath}settings/gateway/${login.state}`, window.location.origin);
  address.searchParams.set('callback_url', callback.href);
  address.searchParams.set('code_challenge', toBase64Url(new Uint8Array(hash)));
  address.searchParams.set('code_challenge_method', 'S256');
  return address.href;
}

/** Cancels a login, so that a code that still arrives is useless. */
export function forgetLogin(): void {
  sessionStorage.removeItem(KEY);
}

/** Finishes the login when its window delivers the code, and calls `onDone` with what went wrong, or null. */
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

/** What went wrong, or null. Undefined if this page did not start the login with this state, or has finished it. */
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

/** A random text of 43 characters. */
function random(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}

function toBase64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

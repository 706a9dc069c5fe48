import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { html } from 'hono/html';
import type { Clock } from '../../clock.ts';
import { AppError } from '../../errors.ts';
import { secretsEqual } from '../../security/crypto.ts';
import type { Person } from '../base/person.ts';

/** How long to wait for the browser to return. */
const PAGE_LIFE_MS = 15 * 60_000;
/** How long the browser may take to read the last response. */
const LAST_ANSWER_MS = 2_000;

/** A page: a heading, paragraphs of plain text, and at most one form. */
export interface LocalPage {
  status: number;
  title: string;
  lines: string[];
  form?: { action: string; fields: Record<string, string>; button: string };
}

export interface PageUrls {
  /** The unguessable address of the page. */
  start: string;
  /** Where the service redirects the browser, with the state in the query. */
  callback: string;
  state: string;
}

interface LocalPageOptions<Value> {
  clock: Clock;
  signal: AbortSignal;
  /** Is offered to open the address. */
  person: Pick<Person, 'say' | 'strong' | 'offer'>;
  /** The first page; null if the flow starts at the service. */
  start: ((urls: PageUrls) => LocalPage) | null;
  /** The address that the user opens. */
  opened(urls: PageUrls): string;
  /**
   * Handles the redirect and returns the final page. Called once. The browser also shows the message of an
   * AppError.
   */
  finish(query: URLSearchParams): Promise<{ title: string; line: string; value: Value }>;
}

/**
 * Serves a page on a random loopback port to which a service redirects the browser. Accepts only requests
 * whose Host is loopback with this port, and a single redirect with the right state. Throws UNAUTHORIZED
 * after 15 minutes, and whatever `finish` throws.
 */
export async function serveLocalPage<Value>(options: LocalPageOptions<Value>): Promise<Value> {
  const { clock, signal, person } = options;
  const state = randomBytes(24).toString('base64url');
  const path = `/${randomBytes(12).toString('base64url')}`;
  const done = Promise.withResolvers<Value>();
  // It may be rejected before it is awaited.
  done.promise.catch(() => undefined);
  let isUsed = false;

  const server = createServer((request, response) => {
    answer(request.headers.host, request.method, request.url)
      .then((page) => send(response, page))
      .catch((error: unknown) => {
        done.reject(error);
        response.destroy();
      });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  const urls = { start: origin + path, callback: `${origin}/callback?state=${state}`, state };

  async function answer(host = '', method?: string, target = '/'): Promise<LocalPage> {
    // Against DNS rebinding: other web pages could reach this server only under their own host name.
    const ownHosts = ['127.0.0.1', 'localhost', '[::1]'].map((name) => `${name}:${port}`);
    if (!ownHosts.includes(host.toLowerCase())) {
      return message(421, 'Wrong address', 'This page is not served here.');
    }
    // Null for an invalid target such as `//`, which any local process can send.
    const url = URL.parse(target, origin);
    if (method === 'GET' && url?.pathname === path && options.start) return options.start(urls);
    if (method !== 'GET' || url?.pathname !== '/callback') {
      return message(404, 'Not found', 'There is nothing here.');
    }
    if (!secretsEqual(url.searchParams.get('state') ?? '', state)) {
      return message(400, 'Rejected', 'Wrong state: this redirect belongs to another login.');
    }
    if (isUsed) return message(410, 'Already used', 'This redirect was already used.');
    isUsed = true;
    try {
      const { title, line, value } = await options.finish(url.searchParams);
      done.resolve(value);
      return message(200, title, line);
    } catch (error) {
      done.reject(error);
      const isKnown = error instanceof AppError;
      return message(
        500,
        'Failed',
        isKnown ? error.message : 'Unexpected error: see the terminal.',
      );
    }
  }

  const ended = new AbortController();
  const address = options.opened(urls);
  person.say(`Open ${person.strong(address)}`);
  const offered = person.offer(
    {
      message: 'Open the page in your browser?',
      address,
      copied: null,
      waiting: 'Waiting for the browser to return.',
    },
    ended.signal,
  );
  try {
    const late = clock
      .sleep(PAGE_LIFE_MS, AbortSignal.any([signal, ended.signal]))
      .then((): never => {
        throw new AppError('UNAUTHORIZED', 'Login timed out after 15 minutes: try again');
      });
    return await Promise.race([done.promise, late]);
  } finally {
    ended.abort();
    await offered;
    await close(server, clock);
  }
}

function message(status: number, title: string, line: string): LocalPage {
  return { status, title, lines: [line] };
}

/** Lets the last response arrive before connections are closed. */
async function close(server: ReturnType<typeof createServer>, clock: Clock): Promise<void> {
  const closed = new AbortController();
  const cut = clock.sleep(LAST_ANSWER_MS, closed.signal).then(
    () => server.closeAllConnections(),
    () => undefined, // all were closed in time
  );
  server.close(() => closed.abort());
  server.closeIdleConnections();
  await once(server, 'close');
  closed.abort();
  await cut;
}

async function send(
  response: ServerResponse,
  { status, title, lines, form }: LocalPage,
): Promise<void> {
  const fields = Object.entries(form?.fields ?? {}).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
  const body =
    await html`<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title>
<style>body{font:1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:4rem auto;padding:0 1rem}button{font:inherit;padding:.5rem 1rem}</style>
<h1>${title}</h1>${lines.map((line) => html`<p>${line}</p>`)}${
      form &&
      html`<form method="post" action="${form.action}">${fields}<button>${form.button}</button></form>`
    }</html>`;
  response.writeHead(status, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': `default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'; form-action ${form ? new URL(form.action).origin : "'none'"}`,
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    Connection: 'close',
  });
  response.end(String(body));
}

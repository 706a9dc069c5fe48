import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../platform/clock.ts';
import { secretsEqual } from '../../platform/crypto.ts';
import { AppError } from '../../platform/errors.ts';

/** How long a page waits for the browser to come back. */
export const PAGE_LIFE_MS = 15 * 60_000;
/** How long the browser may take to read the last answer. */
const LAST_ANSWER_MS = 2_000;

/** What the browser is shown: a heading and paragraphs, all as plain text, and one form at most. */
export interface Page {
  status: number;
  title: string;
  lines: string[];
  form?: { action: string; fields: Record<string, string>; button: string };
}

/** A page that came back from the service, with its state checked. */
export interface Return {
  query: URLSearchParams;
}

export interface LocalPageOptions<Value> {
  clock: Clock;
  signal: AbortSignal;
  /** Shown at the page's own address, before the service is asked; null for a flow without one. */
  start: ((urls: PageUrls) => Page) | null;
  /** Called with the addresses as soon as the page listens. */
  ready(urls: PageUrls): Promise<void> | void;
  /**
   * Uses up the one valid return: does the work, and then says what the browser is told about it. Throws
   * for what failed, and the browser is told its message when that is an AppError.
   */
  finish(back: Return): Promise<{ page: Page; value: Value }>;
}

export interface PageUrls {
  /** The page's own address, which only we know. */
  start: string;
  /** Where the service sends the browser back to, with the state in its query. */
  callback: string;
  state: string;
}

/**
 * A page on a random port of loopback that a service sends the browser back to. It answers only requests
 * that are addressed to it by a loopback name and its port; a return counts once, and only with the state
 * of this page. Throws UNAUTHORIZED after 15 minutes, and whatever `finish` throws. (spec 3,
 * Authentication)
 */
export async function serveLocalPage<Value>(options: LocalPageOptions<Value>): Promise<Value> {
  const { clock, signal } = options;
  const state = randomBytes(24).toString('base64url');
  const path = `/${randomBytes(12).toString('base64url')}`;
  const done = Promise.withResolvers<Value>();
  // Somebody waits for it only after the page listens.
  done.promise.catch(() => undefined);
  let isUsed = false;
  let urls: PageUrls | null = null;

  async function answer(request: IncomingMessage): Promise<Page> {
    const { port } = server.address() as AddressInfo;
    if (!isAddressedTo(request.headers.host, port)) {
      return { status: 421, title: 'Wrong address', lines: ['This page is not served here.'] };
    }
    // Anybody on this machine can ask for what is no address, such as `//`, and must not end the wait.
    const url = URL.parse(request.url ?? '/', 'http://127.0.0.1');
    if (url === null || request.method !== 'GET') return notFound;
    if (url.pathname === path && options.start !== null && urls !== null)
      return options.start(urls);
    if (url.pathname !== '/callback') return notFound;
    if (!secretsEqual(url.searchParams.get('state') ?? '', state)) {
      return {
        status: 400,
        title: 'Refused',
        lines: [
          'This return has a wrong state: it does not belong to the command that waits here.',
        ],
      };
    }
    if (isUsed) {
      return { status: 410, title: 'Used already', lines: ['This return was used already.'] };
    }
    isUsed = true;
    return useUp(url.searchParams);
  }

  async function useUp(query: URLSearchParams): Promise<Page> {
    try {
      const { page, value } = await options.finish({ query });
      done.resolve(value);
      return page;
    } catch (error) {
      done.reject(error);
      const reason =
        error instanceof AppError ? error.message : 'An unexpected error; see the terminal.';
      return { status: 500, title: 'It did not work', lines: [reason] };
    }
  }

  const server = createServer((request, response) => {
    answer(request).then(
      (page) => send(response, page),
      (error: unknown) => {
        done.reject(error);
        response.destroy();
      },
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  urls = { start: `${origin}${path}`, callback: `${origin}/callback?state=${state}`, state };
  const ended = new AbortController();
  try {
    await options.ready(urls);
    const late = clock
      .sleep(PAGE_LIFE_MS, AbortSignal.any([signal, ended.signal]))
      .then((): never => {
        throw new AppError(
          'UNAUTHORIZED',
          'nobody came back from the page in 15 minutes: try again',
        );
      });
    return await Promise.race([done.promise, late]);
  } finally {
    ended.abort();
    await close(server, clock);
  }
}

/** Lets the last answer arrive before the connections are cut. */
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

/** Against DNS rebinding: a page of the web reaches this server only under a name of its own. */
function isAddressedTo(host: string | undefined, port: number): boolean {
  return ['127.0.0.1', 'localhost', '[::1]'].some(
    (name) => host?.toLowerCase() === `${name}:${port}`,
  );
}

const notFound: Page = { status: 404, title: 'Not found', lines: ['There is nothing here.'] };

function send(response: ServerResponse, { status, title, lines, form }: Page): void {
  const fields = Object.entries(form?.fields ?? {}).map(
    ([name, value]) =>
      `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`,
  );
  const button = form
    ? `<form method="post" action="${escapeHtml(form.action)}">${fields.join('')}<button>${escapeHtml(form.button)}</button></form>`
    : '';
  const body = `<!doctype html><html lang="en"><meta charset="utf-8"><title>${escapeHtml(title)}</title>
<style>body{font:1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:4rem auto;padding:0 1rem}button{font:inherit;padding:.5rem 1rem}</style>
<h1>${escapeHtml(title)}</h1>${lines.map((line) => `<p>${escapeHtml(line)}</p>`).join('')}${button}</html>`;
  response.writeHead(status, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': `default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'; form-action ${form ? new URL(form.action).origin : "'none'"}`,
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    Connection: 'close',
  });
  response.end(body);
}

/** A text as HTML, also within a quoted attribute. */
export function escapeHtml(text: string): string {
  const entities: Record<string, string> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
  };
  return text.replace(/[&<>"']/g, (sign) => entities[sign] ?? sign);
}

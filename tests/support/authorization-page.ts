import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The page of the gateway on which a person allows access. */
export interface Authorization {
  url: string;
  /** The parameters with which its visitors arrived. */
  asked: URLSearchParams[];
  /** Whether it sends visitors back without a code. */
  refuses: boolean;
  /** Keeps the next visitor on the page. */
  holds(): void;
  /** The address to which the last visitor was sent. */
  answer(): string;
  close(): Promise<void>;
}

/** Starts the page. */
export async function startAuthorization(): Promise<Authorization> {
  let isHeld = false;
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    if (pathname !== '/auth') return void response.writeHead(404).end();
    page.asked.push(searchParams);
    if (isHeld) {
      isHeld = false;
      return void response.writeHead(200, { 'Content-Type': 'text/html' }).end('Allow?');
    }
    response.writeHead(302, { Location: page.answer() }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const page: Authorization = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/auth`,
    asked: [],
    refuses: false,
    holds() {
      isHeld = true;
    },
    answer() {
      const back = page.asked.at(-1)?.get('callback_url') ?? '';
      return page.refuses ? back : `${back}?code=the-code`;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return page;
}

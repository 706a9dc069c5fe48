import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A received ping. */
export interface Ping {
  /** `''`, `/start` or `/fail`. */
  what: string;
  rid: string | null;
  text: string;
}

/** A dead man's switch service. */
export interface PingServer {
  /** The address of a switch, which is a secret. */
  address: string;
  pings: Ping[];
  /** Answers with these statuses first; 0 never answers. */
  answers: number[];
  close(): Promise<void>;
}

const secretPath = '/4e8b1f0c-3b1d-4d7a-9a55-5a1f7d5ad7f1';

/** Starts the service. */
export async function startPingServer(): Promise<PingServer> {
  const pings: Ping[] = [];
  const answers: number[] = [];
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    pings.push({
      what: pathname.slice(secretPath.length),
      rid: searchParams.get('rid'),
      text: await text(request),
    });
    const status = answers.shift() ?? 200;
    if (status !== 0) response.writeHead(status).end('OK');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    address: `http://127.0.0.1:${port}${secretPath}`,
    pings,
    answers,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** Faults of a service that is reached over TCP. */
export const faults = ['refuses', 'hangs', 'resets', 'garbage', 'page', 'slow'] as const;

/**
 * How the service fails:
 *
 * - `refuses`: nothing listens, and open connections are cut.
 * - `hangs`: connections open, but nothing is answered.
 * - `resets`: the answer is cut in the middle.
 * - `garbage`: the answer consists of bytes of no protocol.
 * - `page`: the answer is a web page with status 200, as from a wrong proxy.
 * - `slow`: each piece of an answer is delayed.
 */
export type Fault = (typeof faults)[number];

/** A TCP proxy in front of a real service that simulates network faults. */
export interface FaultProxy {
  /** `127.0.0.1:<port>`, to be used in place of the service's own. */
  readonly host: string;
  readonly port: number;
  /** How many connections were accepted so far. */
  accepted(): number;
  /** How many connections are open now. */
  open(): number;
  /** Sets the fault. Resolves when it is in effect. */
  break(fault: Fault): Promise<void>;
  /**
   * Lets everything pass again. Hanging connections are cut, because a network that lost its state does not recover
   * them.
   */
  repair(): Promise<void>;
  close(): Promise<void>;
}

/** The delay of each piece of a response from a slow service. */
const SLOW_MS = 300;

/** Not HTTP, and in Postgres's protocol a message of an unknown type, followed by nonsense. */
const garbage = Buffer.from([
  ...[0x83, 0, 0, 0, 8],
  ...Array.from({ length: 512 }, (_, index) => (index * 197 + 131) % 256),
]);

const html = '<!doctype html><title>Sign in</title><p>Sign in to the network.</p>\n';
const page = [
  'HTTP/1.1 200 OK',
  'Content-Type: text/html',
  `Content-Length: ${html.length}`,
  'Connection: close',
  '',
  html,
].join('\r\n');

/** Starts a proxy on a free port in front of `host:port`. */
export async function startFaultProxy(host: string, port: number): Promise<FaultProxy> {
  const pairs = new Set<{ client: Socket; upstream: Socket; isHeld: boolean }>();
  let fault: Fault | null = null;
  let accepted = 0;
  let server: Server | null = await listen(0);
  const own = (server.address() as AddressInfo).port;

  async function listen(at: number): Promise<Server> {
    const made = createServer((client) => join(client));
    made.listen(at, '127.0.0.1');
    await once(made, 'listening');
    return made;
  }

  function join(client: Socket): void {
    accepted += 1;
    const upstream = connect(port, host);
    const pair = { client, upstream, isHeld: false };
    pairs.add(pair);
    const end = () => {
      client.destroy();
      upstream.destroy();
      pairs.delete(pair);
    };
    client.setNoDelay(true).on('error', end).once('close', end);
    // Nobody learns that a hanging service has closed a connection.
    const endUnlessItHangs = () => {
      if (fault === 'hangs') pair.isHeld = true;
      else end();
    };
    upstream.setNoDelay(true).on('error', endUnlessItHangs).once('close', endUnlessItHangs);
    client.on('data', (chunk) => {
      if (fault === 'hangs') pair.isHeld = true;
      // A connection that has lost a piece cannot continue.
      if (pair.isHeld) return;
      if (fault === 'garbage') client.write(garbage);
      else if (fault === 'page') client.end(page);
      else upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (fault === 'hangs') pair.isHeld = true;
      if (pair.isHeld) return;
      if (fault === 'resets') {
        pair.isHeld = true;
        client.write(chunk.subarray(0, Math.floor(chunk.length / 2)), () => {
          client.resetAndDestroy();
        });
      } else if (fault === 'slow') {
        setTimeout(() => client.write(chunk), SLOW_MS).unref();
      } else if (fault !== 'garbage' && fault !== 'page') {
        client.write(chunk);
      }
    });
    client.once('end', () => upstream.end());
    upstream.once('end', () => {
      if (fault === 'slow') setTimeout(() => client.end(), SLOW_MS).unref();
      else if (fault !== 'hangs' && !pair.isHeld) client.end();
    });
  }

  async function stopListening(): Promise<void> {
    const closing = server;
    server = null;
    closing?.close();
    for (const { client } of [...pairs]) client.resetAndDestroy();
    if (closing?.listening) await once(closing, 'close');
  }

  return {
    host: `127.0.0.1:${own}`,
    port: own,
    accepted: () => accepted,
    open: () => pairs.size,
    async break(next) {
      fault = next;
      if (next === 'refuses') await stopListening();
    },
    async repair() {
      fault = null;
      for (const { client, isHeld } of [...pairs]) if (isHeld) client.resetAndDestroy();
      server ??= await listen(own);
    },
    close: stopListening,
  };
}

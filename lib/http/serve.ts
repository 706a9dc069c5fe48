import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import type { Clock } from '../clock.ts';
import { ConfigError } from '../config/read.ts';
import type { Log } from '../log.ts';
import { warnOccasionally } from '../occasional-log.ts';
import { refuseMalformed } from './client-error.ts';
import { type ConnectionLimits, chooseConnectionLimits } from './connection-limits.ts';
import { OpenConnections } from './open-connections.ts';
import { OpenResponses } from './open-responses.ts';
import { answerUnserved, hasUsableAddress, refuseAddress } from './unserved.ts';
import { asksForWebSocket, UpgradeResponse } from './upgrade.ts';

/** Limits of the connection itself. There is no write timeout. */
export interface ServerLimits {
  /** A request must have arrived whole within this, the first one of a connection from its opening on. */
  readTimeoutMs: number;
  /** An idle connection is kept this long. */
  keepAliveMs: number;
  maxHeaderBytes: number;
  /** How often connections are held against the read timeout. */
  checkIntervalMs: number;
}

const defaultLimits: ServerLimits = {
  readTimeoutMs: 15_000,
  keepAliveMs: 120_000,
  maxHeaderBytes: 16 * 1024,
  checkIntervalMs: 1_000,
};

export interface ServerOptions {
  fetch(request: Request, env: HttpBindings): Response | Promise<Response>;
  log: Log;
  clock: Clock;
  limits?: Partial<ServerLimits>;
  /** Default: as many as come, since a platform has limits of its own; `serveNode` has some for any address. */
  connections?: ConnectionLimits;
}

export interface ServeOptions extends ServerOptions {
  host: string;
  /** 0 lets the system choose one. */
  port: number;
  /** The variable that errors name. Default: PORT. */
  portVariable?: string;
}

/** A server that does not listen yet. */
export interface NodeServer {
  server: Server;
  /** See `RunningServer`. */
  close(graceMs?: number): Promise<void>;
}

export interface RunningServer {
  /** Where it answers, without a slash at the end. */
  url: string;
  port: number;
  /**
   * Stops accepting, closes idle connections, lets running requests finish within `graceMs` (default
   * 10 seconds) and then cuts them. Resolves when every connection is gone, also those that were taken
   * over, which whoever took them ends.
   */
  close(graceMs?: number): Promise<void>;
}

const SHUTDOWN_GRACE_MS = 10_000;
const WARN_INTERVAL_MS = 60_000;
/** A connection is closed after this many requests: one that holds them all in a few packets is soon over. */
const MAX_REQUESTS_PER_CONNECTION = 1_000;

/**
 * A fetch handler as an HTTP server. The handshake of a WebSocket goes through the handler like any GET,
 * with an `UpgradeResponse` as its answer.
 */
export function createNodeServer(options: ServerOptions): NodeServer {
  const { log, clock } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const responses = new OpenResponses();
  /** Connections that left HTTP: who took them says when they end. */
  const taken = new WeakSet<Socket>();
  const warn = warnOccasionally({ log, clock }, WARN_INTERVAL_MS);
  const connections = new OpenConnections({
    limits: options.connections ?? null,
    isIdle: (socket) => responses.of(socket).length === 0 && !taken.has(socket),
    onRefused: (address) => warn('a connection was refused: too many are open', { address }),
  });
  const server = createServer({
    requestTimeout: limits.readTimeoutMs,
    headersTimeout: limits.readTimeoutMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: limits.checkIntervalMs,
    maxHeaderSize: limits.maxHeaderBytes,
    // Refused by the listener below instead, which gives the answer its request id.
    requireHostHeader: false,
    // A connection on which an answer is under way cannot leave HTTP: what is asked behind it is answered
    // in its turn, as an ordinary request.
    shouldUpgradeCallback: (request) =>
      asksForWebSocket(request) && responses.of(request.socket).length === 0,
  });
  server.maxRequestsPerSocket = MAX_REQUESTS_PER_CONNECTION;
  const listener = getRequestListener(
    (request, env) => options.fetch(request, env as HttpBindings),
    { errorHandler: (error) => answerUnserved(error, log) },
  );
  let closing: Promise<void> | null = null;

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    responses.add(response);
    if (closing) response.setHeader('Connection', 'close');
    response.once('finish', () => skipBody(request));
    response.once('close', () => {
      connections.touch(socket);
      if (closing) server.closeIdleConnections();
    });
    if (hasUsableAddress(request)) void listener(request, response);
    else refuseAddress(request, response);
  }

  function onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // The server has let go of it. A connection that fails is closed, which its owner sees.
    socket.on('error', () => socket.destroy());
    // Of this server itself the connection is free here; a platform that hands upgrades over may not look.
    if (responses.of(request.socket).length > 0) {
      socket.destroy();
      return;
    }
    const response: UpgradeResponse = new UpgradeResponse({ request, socket, head }, () => {
      taken.add(request.socket);
      responses.delete(response);
    });
    onRequest(request, response);
  }

  async function close(graceMs: number): Promise<void> {
    const finished = new AbortController();
    const closed = new Promise<void>((resolve) => {
      server.close(() => {
        finished.abort();
        resolve();
      });
    });
    // To the server one that was opened ahead of its first request is not idle.
    for (const socket of connections.all()) if (socket.bytesRead === 0) socket.destroy();
    for (const response of responses.all()) {
      if (!response.headersSent) response.setHeader('Connection', 'close');
    }
    const cutWhenLate = clock.sleep(graceMs, finished.signal).then(
      () => {
        log.warn('requests were cut off by the shutdown', { requests: responses.all().length });
        server.closeAllConnections();
      },
      () => undefined, // everything finished in time
    );
    await Promise.all([closed, cutWhenLate]);
  }

  server.on('connection', (socket) => {
    if (connections.admit(socket)) socket.once('close', () => responses.forget(socket));
  });
  server.on('request', onRequest);
  // Node answers what is beyond the limit with 503, one by one, and keeps the connection.
  const ending = new WeakSet<Duplex>();
  server.on('dropRequest', (request, socket) => {
    if (ending.has(socket)) return;
    ending.add(socket);
    const last = responses.of(request.socket).at(-1);
    if (last) last.once('close', () => socket.destroy());
    else socket.destroy();
  });
  server.on('checkExpectation', onRequest);
  server.on('upgrade', onUpgrade);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const open = responses.of(socket);
    const isSent = (response: ServerResponse) => response.socket === socket && response.headersSent;
    refuseMalformed(error, socket, {
      answering: open.some(isSent),
      inBody: open.some(({ req }) => !req.complete),
    });
  });
  return {
    server,
    close: (graceMs = SHUTDOWN_GRACE_MS) => {
      closing ??= close(graceMs);
      return closing;
    },
  };
}

/**
 * Lets the rest of a body that nobody will read any more go by, such as one that is too large: the next
 * request of the connection stands behind it. Whoever began to read it has stopped it where he was. A client
 * that goes on sending for half a second is cut off by the adapter.
 */
function skipBody(request: IncomingMessage): void {
  if (request.complete) return;
  request.removeAllListeners('data');
  request.resume();
}

/**
 * Serves a fetch handler over HTTP and resolves when it listens. Throws ConfigError naming PORT or HOST
 * when it cannot.
 */
export async function serveNode({ host, ...options }: ServeOptions): Promise<RunningServer> {
  const { connections = chooseConnectionLimits([]) } = options;
  const { server, close } = createNodeServer({ ...options, connections });
  const port = await listen(server, host, options);
  return { url: `http://${addressInUrl(host)}:${port}`, port, close };
}

async function listen(
  server: Server,
  host: string,
  { port, portVariable = 'PORT' }: Pick<ServeOptions, 'port' | 'portVariable'>,
): Promise<number> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port }, () => {
        server.off('error', reject);
        resolve();
      });
    });
  } catch (cause) {
    throw new ConfigError(
      explainListenFailure(cause as NodeJS.ErrnoException, port, portVariable),
      { cause },
    );
  }
  return (server.address() as AddressInfo).port;
}

function explainListenFailure(
  { code, message }: NodeJS.ErrnoException,
  port: number,
  variable: string,
): string {
  switch (code) {
    case 'EADDRINUSE':
      return `${variable} ${port} is already in use: stop what listens there or set another ${variable}`;
    case 'EACCES':
      return `${variable} ${port} may not be used by this user: set a ${variable} above 1023`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'HOST is not an address of this machine';
    default:
      return `cannot listen on ${variable} ${port}: ${message}`;
  }
}

function addressInUrl(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}

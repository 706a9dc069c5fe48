import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import type { Clock } from '../clock.ts';
import { ConfigError } from '../config/read.ts';
import type { Log } from '../log.ts';
import { refuseMalformed } from './client-error.ts';
import { OpenResponses } from './open-responses.ts';
import { Turns } from './turns.ts';
import { answerUnserved, hasUsableAddress, refuseAddress } from './unserved.ts';
import { asksForWebSocket, UpgradeResponse } from './upgrade.ts';

/** Limits of the connection itself. There is no write timeout. (spec 1, Limits) */
export interface ServerLimits {
  /** A request must have arrived whole within this. */
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
/** Requests of one connection that may wait for their answers: one packet can hold hundreds. */
const MAX_PIPELINED = 20;

/**
 * A fetch handler as an HTTP server. The handshake of a WebSocket goes through the handler like any GET,
 * with an `UpgradeResponse` as its answer.
 */
export function createNodeServer(options: ServerOptions): NodeServer {
  const { log, clock } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const responses = new OpenResponses();
  const turns = new Turns();
  /** Open connections: to the server one that was opened ahead of its first request is not idle. */
  const connections = new Set<Socket>();
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
  const listener = getRequestListener(
    (request, env) => options.fetch(request, env as HttpBindings),
    { errorHandler: (error) => answerUnserved(error, log) },
  );
  let closing: Promise<void> | null = null;

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const ahead = responses.of(socket);
    // What stands in the same packet still comes here when the connection is cut.
    if (socket.destroyed || ahead.length >= MAX_PIPELINED) {
      socket.destroy();
      return;
    }
    responses.add(response);
    if (closing) response.setHeader('Connection', 'close');
    response.once('finish', () => skipBody(request));
    response.once('close', () => {
      if (closing) server.closeIdleConnections();
    });
    // Answers leave in the order of their requests: behind another one none is needed earlier.
    const before = ahead.at(-1);
    if (before) before.once('close', () => begin(request, response));
    else if (asksForHealth(request)) serve(request, response);
    else begin(request, response);
  }

  function begin(request: IncomingMessage, response: ServerResponse): void {
    turns.take(() => serve(request, response));
  }

  function serve(request: IncomingMessage, response: ServerResponse): void {
    // Its client has given up meanwhile: nobody would get the answer.
    if (request.socket.destroyed) return;
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
    const response: UpgradeResponse = new UpgradeResponse({ request, socket, head }, () =>
      responses.delete(response),
    );
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
    for (const socket of connections) if (socket.bytesRead === 0) socket.destroy();
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
    connections.add(socket);
    socket.once('close', () => {
      connections.delete(socket);
      responses.forget(socket);
    });
  });
  server.on('request', onRequest);
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

/** Answered before what came with it, however much that is. */
function asksForHealth({ url = '' }: IncomingMessage): boolean {
  return /^\/healthz?(\?|$)/.test(url);
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
  const { server, close } = createNodeServer(options);
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

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import type { Clock } from '../../clock.ts';
import { ConfigError } from '../../config/read.ts';
import type { Log } from '../../log/log.ts';
import { warnOccasionally } from '../../log/occasional-log.ts';
import type { HttpEnv } from '../env.ts';
import {
  hasValidTarget,
  rejectMalformed,
  rejectTarget,
  respondToUnhandledError,
} from './malformed-requests.ts';
import {
  type ConnectionLimits,
  chooseConnectionLimits,
  OpenConnections,
} from './open-connections.ts';
import { OpenResponses } from './open-responses.ts';
import { isWebSocketHandshake, UpgradeResponse } from './upgrade.ts';

/** Limits of a connection. */
export interface ServerLimits {
  /** Time for a whole request to arrive; for the first one, since the connection opened. */
  readTimeoutMs: number;
  /** How long an idle connection is kept open. */
  keepAliveMs: number;
  maxHeaderBytes: number;
  /** How often the read timeout and the bytes that wait are checked. */
  checkIntervalMs: number;
  /** How long a client may read nothing while bytes wait for it. */
  stallMs: number;
  /** How many bytes may wait for all clients together. */
  maxWaitingBytes: number;
}

const defaultLimits: ServerLimits = {
  readTimeoutMs: 15_000,
  keepAliveMs: 120_000,
  maxHeaderBytes: 16 * 1024,
  checkIntervalMs: 1_000,
  stallMs: 120_000,
  maxWaitingBytes: 128 * 1024 * 1024,
};

export interface ServerOptions {
  fetch(request: Request, env: HttpBindings & HttpEnv['Bindings']): Response | Promise<Response>;
  log: Log;
  clock: Clock;
  limits?: Partial<ServerLimits>;
  /** Default: unlimited, for platforms with their own limits. `serveNode` has defaults. */
  connections?: ConnectionLimits;
  /**
   * A path such as `/backup`, which is removed from the start of a request's path. Requests without it are served too:
   * proxies may remove it themselves, and programs on this machine do not use it. Default: none.
   */
  basePath?: string;
}

export interface ServeOptions extends ServerOptions {
  host: string;
  /** 0: chosen by the system. */
  port: number;
  /** The variable named in errors. Default: PORT. */
  portVariable?: string;
}

/** A server that is not listening yet. */
export interface NodeServer {
  server: Server;
  /** See `RunningServer`. */
  close(graceMs?: number): Promise<void>;
}

export interface RunningServer {
  /** Without a trailing slash. */
  url: string;
  port: number;
  /**
   * Stops accepting and closes idle connections. Running requests may finish within `graceMs` (default: 10
   * seconds) before they are cut off. Resolves when every connection is closed, including those that were
   * taken over, which their owners must close.
   */
  close(graceMs?: number): Promise<void>;
}

const SHUTDOWN_GRACE_MS = 10_000;
const WARN_INTERVAL_MS = 60_000;
/** Closes a connection after this many requests, so that pipelining thousands of them gains nothing. */
const MAX_REQUESTS_PER_CONNECTION = 1_000;
/**
 * How often a connection is looked at until it counts as stalled. Node reports one on which no byte has moved since its
 * last look, and looks later if one has. Its first look only notes how many bytes wait.
 */
const LOOKS_PER_STALL = 8;
/** The bytes that wait are also checked after this many requests, because many may come between two checks. */
const REQUESTS_PER_CHECK = 50;

/**
 * Creates an HTTP server for a fetch handler. A WebSocket handshake goes through the handler like any GET,
 * with an `UpgradeResponse` as its response.
 */
export function createNodeServer(options: ServerOptions): NodeServer {
  const { log, clock, basePath = '' } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const responses = new OpenResponses();
  /** Upgraded connections, which their owners close. */
  const taken = new WeakSet<Socket>();
  const warn = warnOccasionally({ log, clock }, WARN_INTERVAL_MS);
  const connections = new OpenConnections({
    limits: options.connections ?? null,
    isIdle: (socket) => responses.of(socket).length === 0 && !taken.has(socket),
    onRejected: (address) => warn('rejected a connection: too many are open', { address }),
  });
  const server = createServer({
    requestTimeout: limits.readTimeoutMs,
    headersTimeout: limits.readTimeoutMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: limits.checkIntervalMs,
    maxHeaderSize: limits.maxHeaderBytes,
    // Checked by `onRequest` instead, which adds a request id to the response.
    requireHostHeader: false,
    // No upgrade while a response is unfinished: a pipelined handshake is handled as an ordinary request.
    shouldUpgradeCallback: (request) =>
      isWebSocketHandshake(request) && responses.of(request.socket).length === 0,
  });
  server.maxRequestsPerSocket = MAX_REQUESTS_PER_CONNECTION;
  // Also resets the timeout of a connection after it was idle.
  server.timeout = limits.stallMs;
  const lookMs = limits.stallMs / LOOKS_PER_STALL;
  const stalls = new WeakMap<Socket, { looks: number; at: number }>();
  server.on('timeout', (socket: Socket) => {
    const isResponding = responses.of(socket).length > 0;
    if (taken.has(socket)) return;
    if (isResponding) {
      const at = performance.now();
      const before = stalls.get(socket);
      const isStillStalled = before !== undefined && at - before.at < 1.9 * lookMs;
      const looks = isStillStalled ? before.looks + 1 : 1;
      if (socket.writableLength === 0) stalls.delete(socket);
      else stalls.set(socket, { looks, at });
      socket.setTimeout(lookMs);
      if (socket.writableLength === 0 || looks < LOOKS_PER_STALL) return;
    }
    socket.destroy();
    if (isResponding) warn('ended a connection: its client does not read', {});
  });
  const endReaders = () => {
    const ended = endSlowReaders(connections.all(), limits.maxWaitingBytes);
    if (ended > 0)
      warn('ended connections: too many bytes wait for clients', { connections: ended });
  };
  const checking = setInterval(endReaders, limits.checkIntervalMs).unref();
  let requests = 0;
  const listener = getRequestListener(
    (request, env) => options.fetch(request, env as HttpBindings),
    { errorHandler: (error) => respondToUnhandledError(error, log) },
  );
  let closing: Promise<void> | null = null;

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    request.url = withoutBasePath(request.url, basePath);
    if (++requests % REQUESTS_PER_CHECK === 0) endReaders();
    responses.add(response);
    socket.setTimeout(lookMs);
    if (closing) response.setHeader('Connection', 'close');
    response.once('finish', () => skipBody(request));
    response.once('close', () => {
      connections.touch(socket);
      if (closing) server.closeIdleConnections();
    });
    if (hasValidTarget(request)) void listener(request, response);
    else rejectTarget(request, response);
  }

  function onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // The server no longer handles errors of this socket. The owner sees the close.
    socket.on('error', () => socket.destroy());
    // Our own server checks this before an upgrade, but a platform may not.
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
        clearInterval(checking);
        finished.abort();
        resolve();
      });
    });
    // The server does not treat a connection without a first request as idle.
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
  // Beyond the limit, Node would respond 503 to each request and keep the connection.
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
    rejectMalformed(error, socket, {
      responding: open.some(isSent),
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

/** `/backup/app/` becomes `/app/`, and `/backup` becomes `/`. */
function withoutBasePath(target: string | undefined, basePath: string): string | undefined {
  if (basePath === '' || !target?.startsWith(basePath)) return target;
  const rest = target.slice(basePath.length);
  if (rest.startsWith('/')) return rest;
  return rest === '' || rest.startsWith('?') ? `/${rest}` : target;
}

/** Ends the connections for which most bytes wait, until no more than `max` wait. Returns how many it ended. */
function endSlowReaders(sockets: ReadonlySet<Socket>, max: number): number {
  let waiting = 0;
  for (const socket of sockets) waiting += socket.writableLength;
  if (waiting <= max) return 0;
  let ended = 0;
  for (const socket of [...sockets].sort((a, b) => b.writableLength - a.writableLength)) {
    if (waiting <= max) break;
    waiting -= socket.writableLength;
    socket.destroy();
    ended += 1;
  }
  return ended;
}

/**
 * Discards the unread rest of a body, such as one that is too large, to reach the next request. A reader that
 * stopped has paused the stream. The adapter cuts off a client that keeps sending for half a second.
 */
function skipBody(request: IncomingMessage): void {
  if (request.complete) return;
  request.removeAllListeners('data');
  request.resume();
}

/**
 * Serves a fetch handler over HTTP and resolves when it listens. Throws ConfigError, naming PORT or HOST, if
 * it cannot.
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

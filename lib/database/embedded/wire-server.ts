import type { Server, Socket } from 'node:net';
import type { Log } from '../../log.ts';
import type { SharedSession } from './session-client.ts';
import type { WireListener } from './wire-listener.ts';
import { FatalError } from './wire-messages.ts';
import { WireSession } from './wire-session.ts';
import type { CancelRequest } from './wire-startup.ts';

/** Concurrent clients per listener; more are refused with 53300. */
const MAX_CLIENTS = 100;
/** Extra connections, to receive that refusal or to cancel a statement. */
const MAX_REFUSED_CLIENTS = 20;
/** How long a disconnected client may take to close its socket. */
const LINGER_MS = 5_000;

interface Client {
  session: WireSession;
  served: Promise<void>;
  server: Server;
}

/**
 * Serves Postgres clients. It listens before the database has started, to detect a port in use early;
 * clients wait until `serve` is called.
 */
export class WireServer {
  readonly #log: Log;
  readonly #servers: Server[] = [];
  readonly #waiting = new Map<Socket, WireListener>();
  readonly #sockets = new Set<Socket>();
  readonly #clients = new Map<number, Client>();
  #shared: SharedSession | null = null;
  #nextId = 1;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Starts to accept clients. Throws ConfigError when the socket or port is unavailable. */
  async listen(listener: WireListener): Promise<void> {
    const { server } = listener;
    server.maxConnections = MAX_CLIENTS + MAX_REFUSED_CLIENTS;
    server.on('connection', (socket: Socket) => this.#accept(socket, listener));
    await listener.listen();
    server.on('error', (error) => this.#log.warn('could not accept a database client', { error }));
    this.#servers.push(server);
  }

  /** The number of connected clients. */
  get clients(): number {
    return this.#clients.size;
  }

  /** Starts to serve clients, including those that connected while the database was starting. */
  serve(shared: SharedSession): void {
    this.#shared = shared;
    for (const [socket, listener] of this.#waiting) this.#open(socket, listener, shared);
    this.#waiting.clear();
  }

  /** Disconnects every client with this reason, once its running statement has ended. */
  endClients(reason: FatalError): void {
    for (const { session } of this.#clients.values()) session.abort(reason);
  }

  /** Stops listening and disconnects all clients. */
  async close(): Promise<void> {
    const closed = this.#servers.map(
      (server) => new Promise<void>((resolve) => server.close(() => resolve())),
    );
    this.endClients(new FatalError('57P01', 'the database is shutting down'));
    await Promise.all([...this.#clients.values()].map(({ served }) => served));
    for (const socket of this.#sockets) socket.destroySoon();
    await Promise.all(closed);
  }

  #accept(socket: Socket, listener: WireListener): void {
    this.#sockets.add(socket);
    socket
      .on('error', () => socket.destroy())
      .on('close', () => {
        this.#sockets.delete(socket);
        this.#waiting.delete(socket);
      });
    if (this.#shared === null) this.#waiting.set(socket, listener);
    else this.#open(socket, listener, this.#shared);
  }

  #open(socket: Socket, { server, secret }: WireListener, shared: SharedSession): void {
    const id = this.#nextId++;
    const session = new WireSession({
      shared,
      id,
      stream: socket,
      secret,
      refusal: this.#refuse(server),
      onCancel: (request) => this.#cancel(request),
    });
    const served = session.serve().then(() => {
      this.#clients.delete(id);
      // A fixed deadline, no matter what the client still sends.
      const linger = setTimeout(() => socket.destroy(), LINGER_MS);
      socket.once('close', () => clearTimeout(linger));
    });
    this.#clients.set(id, { session, served, server });
  }

  #refuse(server: Server): FatalError | undefined {
    const others = [...this.#clients.values()].filter((client) => client.server === server);
    if (others.length < MAX_CLIENTS) return undefined;
    return new FatalError('53300', `the embedded database serves at most ${MAX_CLIENTS} clients`);
  }

  #cancel({ id, key }: CancelRequest): void {
    this.#clients.get(id)?.session.cancel(key);
  }
}

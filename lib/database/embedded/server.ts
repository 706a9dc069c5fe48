import { once } from 'node:events';
import { chmod, rm } from 'node:fs/promises';
import { createServer, type ListenOptions, type Server, type Socket } from 'node:net';
import { ConfigError } from '../../config/read.ts';
import type { Log } from '../../log/log.ts';
import { ClientConnection } from './client-connection.ts';
import type { Shared } from './client-session.ts';
import { FatalError } from './messages.ts';

const HOST = '127.0.0.1';
/** Concurrent clients of the socket, and of the port; more are refused with 53300. */
const MAX_CLIENTS = 100;
/** Extra connections, to receive that refusal or to cancel a statement. */
const MAX_REFUSED_CLIENTS = 20;

/** A port of the loopback address (0 for any free one), and its password. */
export interface PortOptions {
  port: number;
  password: string;
}

interface Client {
  connection: ClientConnection;
  served: Promise<void>;
  server: Server;
}

/**
 * Serves Postgres clients. It listens before the database has started, so that a port in use is detected
 * early and other commands find it; clients wait until then.
 */
export class DatabaseServer {
  readonly #log: Log;
  readonly #started = Promise.withResolvers<Shared>();
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #clients = new Map<number, Client>();
  #nextId = 1;

  constructor(log: Log) {
    this.#log = log;
  }

  /**
   * Accepts clients on a Unix socket that only its owner can use, or a named pipe. An existing socket file is
   * stale and is replaced, because the caller holds the lock of the data directory. Throws ConfigError.
   */
  async listenOnSocket(path: string): Promise<void> {
    const isFile = process.platform !== 'win32';
    try {
      if (isFile) await rm(path, { force: true });
      await this.#listen({ path }, null);
      if (isFile) await chmod(path, 0o600);
    } catch (cause) {
      const reason = (cause as NodeJS.ErrnoException).code ?? (cause as Error).message;
      throw new ConfigError(`cannot create the database socket in DATA_DIR (${reason})`, { cause });
    }
  }

  /** Accepts clients on a port. Returns its URL, with the password; throws ConfigError. */
  async listenOnPort({ port, password }: PortOptions): Promise<string> {
    try {
      const address = (await this.#listen({ port, host: HOST }, password)).address();
      const actual = address !== null && typeof address === 'object' ? address.port : port;
      return `postgres://postgres:${encodeURIComponent(password)}@${HOST}:${actual}/postgres`;
    } catch (cause) {
      const { code, message } = cause as NodeJS.ErrnoException;
      const reason =
        code === 'EADDRINUSE'
          ? 'is in use by another program'
          : `cannot be listened on (${code ?? message})`;
      throw new ConfigError(
        `EMBEDDED_DB_PORT: port ${port} on ${HOST} ${reason}; set another, or 0 to not listen`,
        { cause },
      );
    }
  }

  /** The number of connected clients. */
  get clients(): number {
    return this.#clients.size;
  }

  /** Serves the clients, including those that connected while the database was starting. */
  serve(shared: Shared): void {
    this.#started.resolve(shared);
  }

  /** Lets this time of a client's running statement pass at once. */
  hasten(id: number, ms: number): void {
    this.#clients.get(id)?.connection.hasten(ms);
  }

  /** Disconnects every client with this reason, once its running statement has ended. */
  endClients(reason: FatalError): void {
    for (const { connection } of this.#clients.values()) connection.abort(reason);
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

  async #listen(where: ListenOptions, password: string | null): Promise<Server> {
    const server = createServer({ noDelay: true });
    server.maxConnections = MAX_CLIENTS + MAX_REFUSED_CLIENTS;
    server.on('connection', (socket) => this.#accept(socket, server, password));
    await once(server.listen(where), 'listening');
    server.on('error', (error) => this.#log.warn('could not accept a database client', { error }));
    this.#servers.push(server);
    return server;
  }

  async #accept(socket: Socket, server: Server, password: string | null): Promise<void> {
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => this.#sockets.delete(socket));
    const shared = await this.#started.promise;
    if (socket.destroyed) return;
    const id = this.#nextId++;
    const connection = new ClientConnection({
      ...{ shared, id, socket, password },
      refusal: this.#refuse(server),
      onCancel: (request) => this.#clients.get(request.id)?.connection.cancel(request.key),
    });
    const served = connection.serve().then(() => {
      this.#clients.delete(id);
    });
    this.#clients.set(id, { connection, served, server });
  }

  #refuse(server: Server): FatalError | undefined {
    const others = [...this.#clients.values()].filter((client) => client.server === server);
    if (others.length < MAX_CLIENTS) return undefined;
    return new FatalError('53300', `the embedded database serves at most ${MAX_CLIENTS} clients`);
  }
}

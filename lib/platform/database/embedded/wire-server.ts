import { createServer, type Server, type Socket } from 'node:net';
import { ConfigError } from '../../config/read.ts';
import type { Log } from '../../log.ts';
import type { SharedSession } from './session-client.ts';
import { FatalError } from './wire-messages.ts';
import { WireSession } from './wire-session.ts';

const HOST = '127.0.0.1';
/** Most clients at a time; more are refused with 53300. */
const CLIENT_LIMIT = 100;
/** How long a client that was told its end may take to close, in milliseconds. */
const LINGER_MS = 5_000;

/**
 * Listens for clients of the Postgres protocol on 127.0.0.1. The port is taken before the database has
 * started, so that a port in use shows at once; clients wait until `serve` is called.
 */
export class WireServer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Map<WireSession, Promise<void>>();
  #shared: SharedSession | null = null;
  #nextId = 1;

  private constructor(server: Server, log: Log) {
    this.#server = server;
    server.on('connection', (socket) => this.#accept(socket));
    server.on('error', (error) => log.warn('a database client was not let in', { error }));
  }

  /** Port 0 takes any free one. Throws ConfigError when the port cannot be had. */
  static async listen(port: number, log: Log): Promise<WireServer> {
    const server = createServer({ noDelay: true });
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error) => reject(portFault(port, error)));
      server.listen({ port, host: HOST }, resolve);
    });
    server.removeAllListeners('error');
    return new WireServer(server, log);
  }

  get url(): string {
    const address = this.#server.address();
    const port = address !== null && typeof address === 'object' ? address.port : 0;
    return `postgres://postgres@${HOST}:${port}/postgres`;
  }

  /** How many clients there are. */
  get clients(): number {
    return this.#sessions.size;
  }

  /** Begins to serve, also those who came while the database was starting. */
  serve(shared: SharedSession): void {
    this.#shared = shared;
    for (const socket of this.#sockets) this.#open(socket, shared);
  }

  /** Ends every client with this reason once its running statement has ended. */
  endClients(reason: FatalError): void {
    for (const session of this.#sessions.keys()) session.abort(reason);
  }

  /** Stops listening and ends all clients. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.endClients(new FatalError('57P01', 'the database is shutting down'));
    await Promise.all(this.#sessions.values());
    for (const socket of this.#sockets) socket.destroySoon();
    await closed;
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket)).on('error', () => socket.destroy());
    if (this.#shared !== null) this.#open(socket, this.#shared);
  }

  #open(socket: Socket, shared: SharedSession): void {
    const refusal =
      this.#sessions.size < CLIENT_LIMIT
        ? undefined
        : new FatalError('53300', `the embedded database serves at most ${CLIENT_LIMIT} clients`);
    const session = new WireSession({
      shared,
      id: this.#nextId++,
      stream: socket,
      inProcess: false,
      refusal,
    });
    const served = session.serve().then(() => {
      this.#sessions.delete(session);
      socket.setTimeout(LINGER_MS, () => socket.destroy());
    });
    this.#sessions.set(session, served);
  }
}

function portFault(port: number, error: Error): ConfigError {
  const { code } = error as NodeJS.ErrnoException;
  const reason =
    code === 'EADDRINUSE'
      ? 'is in use by another program'
      : `cannot be listened on (${code ?? error.message})`;
  return new ConfigError(
    `EMBEDDED_DB_PORT: port ${port} on ${HOST} ${reason}; set another, or 0 to not listen`,
    { cause: error },
  );
}

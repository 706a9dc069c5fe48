import type { Socket } from 'node:net';
import { Client, type ClientConfig } from 'pg';

/** The undeclared connection of the driver's client. */
interface Connection {
  stream: Socket;
  attachListeners(stream: Listenable): void;
}

/** The part of a socket that the driver reads with. */
interface Listenable {
  on(event: string, listener: (...given: unknown[]) => void): unknown;
}

/** The callback that the pool passes to `connect`. */
type ConnectCallback = (error: Error | null, ...rest: unknown[]) => void;

/**
 * The driver's client, hardened against servers that do not speak Postgres. It closes a connection that
 * fails to start, which the pool would leave open. It also closes a connection that sends malformed data:
 * the driver would throw inside the socket's event and crash the process.
 */
export class GuardedClient extends Client {
  constructor(config?: ClientConfig) {
    super(config);
    const { connection } = this as unknown as { connection: Connection };
    const connect = this.connect.bind(this) as (callback: ConnectCallback) => void;
    const connectOrClose = (callback: ConnectCallback) =>
      connect((error, ...rest) => {
        if (error) connection.stream.destroy();
        callback(error, ...rest);
      });
    Object.assign(this, { connect: connectOrClose });
    const attach = connection.attachListeners.bind(connection);
    connection.attachListeners = (stream) => attach(destroyOnError(stream as Socket));
  }
}

/** A socket that is destroyed by any error its listeners throw. */
function destroyOnError(stream: Socket): Listenable {
  const on: Listenable['on'] = (event, listener) =>
    stream.on(event, (...given: unknown[]) => {
      try {
        listener(...given);
      } catch (error) {
        stream.destroy(error instanceof Error ? error : new Error(String(error)));
      }
    });
  return { on };
}

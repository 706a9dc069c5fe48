import type { Socket } from 'node:net';
import { Client, type ClientConfig } from 'pg';

/** What the driver does not declare of its client's connection. */
interface Connection {
  stream: Socket;
  attachListeners(stream: Readings): void;
}

/** What the driver reads a connection by. */
interface Readings {
  on(event: string, listener: (...given: unknown[]) => void): unknown;
}

/** As the pool calls it. */
type ConnectCallback = (error: Error | null, ...rest: unknown[]) => void;

/**
 * The driver's client, for a pool that does not know who listens at the address. A connection that could
 * not be made is closed: the pool drops it as it is, and the other side might keep it open. Bytes that are
 * not Postgres's end their connection: the driver throws out of the socket's event, which ends the process.
 */
export class WaryClient extends Client {
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
    connection.attachListeners = (stream) => attach(endedByFaults(stream as Socket));
  }
}

/** A socket whose listeners end it with what they throw. */
function endedByFaults(stream: Socket): Readings {
  const on: Readings['on'] = (event, listener) =>
    stream.on(event, (...given: unknown[]) => {
      try {
        listener(...given);
      } catch (error) {
        stream.destroy(error instanceof Error ? error : new Error(String(error)));
      }
    });
  return { on };
}

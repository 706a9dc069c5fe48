import { connect } from 'node:net';
import type { PoolClient } from 'pg';

/** Where a Postgres server listens; a host that begins with a slash is a folder of Unix sockets. */
export interface ServerAddress {
  host: string;
  port: number;
}

const CANCEL_REQUEST_CODE = 80_877_102;
const CANCEL_TIMEOUT_MS = 5_000;

/**
 * Asks the server to stop what a connection runs, by a connection of its own, as the Postgres protocol
 * has it (CancelRequest). Resolves when the request was sent; rejects when the server is out of reach.
 */
export function cancelStatement(client: PoolClient, { host, port }: ServerAddress): Promise<void> {
  // The driver keeps what the server told it for this purpose, but does not declare it.
  const { processID, secretKey } = client as PoolClient & {
    processID: number | null;
    secretKey: number | null;
  };
  if (processID === null || secretKey === null) return Promise.resolve();

  const request = Buffer.alloc(16);
  request.writeInt32BE(request.length, 0);
  request.writeInt32BE(CANCEL_REQUEST_CODE, 4);
  request.writeInt32BE(processID, 8);
  request.writeInt32BE(secretKey, 12);
  return new Promise((resolve, reject) => {
    const socket = host.startsWith('/')
      ? connect(`${host}/.s.PGSQL.${port}`)
      : connect({ host, port });
    socket.setTimeout(CANCEL_TIMEOUT_MS, () =>
      socket.destroy(new Error('cancel request timed out')),
    );
    socket.once('error', reject).once('close', () => resolve());
    socket.end(request);
  });
}

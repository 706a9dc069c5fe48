import type { PoolClient } from 'pg';
import { connectToServer, type ServerAddress } from './local-socket.ts';

const CANCEL_REQUEST_CODE = 80_877_102;
const CANCEL_TIMEOUT_MS = 5_000;

/**
 * Cancels the running statement of a connection with a CancelRequest, which the Postgres protocol sends over
 * a separate connection. Resolves once the request is sent; rejects when the server cannot be reached.
 */
export function cancelStatement(client: PoolClient, server: ServerAddress): Promise<void> {
  // The driver stores both values but does not declare them.
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
    const socket = connectToServer(server);
    socket.setTimeout(CANCEL_TIMEOUT_MS, () =>
      socket.destroy(new Error('cancel request timed out')),
    );
    socket.once('error', reject).once('close', () => resolve());
    socket.end(request);
  });
}

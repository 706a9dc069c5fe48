import { chmod, rm } from 'node:fs/promises';
import { createServer, type ListenOptions, type Server } from 'node:net';
import { ConfigError } from '../../config/read.ts';
import { makeScramSecret, type ScramSecret } from './wire-scram.ts';

const HOST = '127.0.0.1';

/** A socket or port that accepts clients. */
export interface WireListener {
  readonly server: Server;
  /** The password verifier; null when clients need no password. */
  readonly secret: ScramSecret | null;
  /** Throws ConfigError when the socket or port is unavailable. */
  listen(): Promise<void>;
}

/** A port of the loopback address (0 for any free one), and its password. */
export interface PortOptions {
  port: number;
  password: string;
}

/**
 * A Unix socket that only its owner can use, or a named pipe. An existing socket file is stale and is
 * replaced, because the caller holds the lock of the data directory.
 */
export function socketListener(path: string): WireListener {
  const server = createServer();
  const isFile = process.platform !== 'win32';
  return {
    server,
    secret: null,
    async listen() {
      try {
        if (isFile) await rm(path, { force: true });
        await startListening(server, { path });
        if (isFile) await chmod(path, 0o600);
      } catch (cause) {
        const reason = (cause as NodeJS.ErrnoException).code ?? (cause as Error).message;
        throw new ConfigError(`cannot create the database socket in DATA_DIR (${reason})`, {
          cause,
        });
      }
    },
  };
}

/** A local port for clients that know the password. */
export async function portListener({ port, password }: PortOptions): Promise<WireListener> {
  const server = createServer({ noDelay: true });
  return {
    server,
    secret: await makeScramSecret(password),
    async listen() {
      try {
        await startListening(server, { port, host: HOST });
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
    },
  };
}

/** The URL of a port, including its password. */
export function urlOfPort({ server }: WireListener, password: string): string {
  const address = server.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  return `postgres://postgres:${encodeURIComponent(password)}@${HOST}:${port}/postgres`;
}

function startListening(server: Server, where: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(where, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ConfigError } from '../../config/read.ts';
import { nullIfMissing } from '../../files.ts';
import {
  connectToServer,
  fitsSocketPath,
  localSocketPath,
  type ServerAddress,
} from '../local-socket.ts';

const PORT = 5432;

/** Where the embedded database listens: a socket in its data directory, or a named pipe on Windows. */
function addressOf(dataDir: string): ServerAddress {
  const folder = resolve(dataDir);
  if (process.platform !== 'win32') return { host: folder, port: PORT };
  const name = createHash('sha256').update(folder.toLowerCase()).digest('hex').slice(0, 32);
  return { host: `\\\\.\\pipe\\backup-observatory-${name}`, port: PORT };
}

/**
 * The URL of the embedded database in a data directory, for `openDatabase` and other Postgres clients. It
 * works while a process has the database open.
 */
export function embeddedUrl(dataDir: string): string {
  const { host, port } = addressOf(dataDir);
  const where = `host=${encodeURIComponent(host)}&port=${port}`;
  return `postgres:///postgres?${where}&user=postgres&sslmode=disable`;
}

/** The URL of the embedded database if a process has it open; otherwise null. */
export function urlOfOpenDatabase(dataDir: string): Promise<string | null> {
  if (socketPath(dataDir) === null) return Promise.resolve(null);
  return new Promise((answer) => {
    const socket = connectToServer(addressOf(dataDir));
    const say = (url: string | null) => {
      socket.destroy();
      answer(url);
    };
    socket.once('connect', () => say(embeddedUrl(dataDir))).once('error', () => say(null));
  });
}

/** Whether a data directory has an embedded database that can be opened. */
export async function hasEmbeddedDatabase(dataDir: string): Promise<boolean> {
  if (socketPath(dataDir) === null) return false;
  return (await nullIfMissing(stat(join(dataDir, 'postgres', 'PG_VERSION')))) !== null;
}

/** The socket path for a data directory. Throws ConfigError when it is too long. */
export function embeddedSocket(dataDir: string): string {
  const path = socketPath(dataDir);
  if (path !== null) return path;
  throw new ConfigError(
    'the path of DATA_DIR is too long for a Unix socket: set a shorter one, or start in a folder near it',
  );
}

function socketPath(dataDir: string): string | null {
  const path = localSocketPath(addressOf(dataDir));
  return path !== null && fitsSocketPath(path) ? path : null;
}

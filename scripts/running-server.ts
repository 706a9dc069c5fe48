import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join, relative, resolve } from 'node:path';
import { z } from 'zod';
import { fitsSocketPath } from '../lib/database/local-socket.ts';
import { parseJson } from '../lib/json.ts';
import type { Log } from '../lib/log/log.ts';

/** The announcement sent to each connection: one line of JSON. */
const announcement = z.object({ url: z.url({ protocol: /^https?$/ }) });

const MAX_LENGTH = 2_048;
const TIMEOUT_MS = 2_000;
/** Each connection only lasts for one line. */
const MAX_CONNECTIONS = 64;

/** A server address that other processes can look up until it is closed. */
export interface AnnouncedServer {
  close(): Promise<void>;
}

/**
 * Announces this server's URL to other processes of the same user, over the socket `server.sock` in DATA_DIR.
 * A failure is logged; the server works without it.
 */
export async function announceServer(
  dataDir: string,
  url: string,
  log: Log,
): Promise<AnnouncedServer> {
  const path = socketIn(dataDir);
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy());
    socket.resume().end(`${JSON.stringify({ url })}\n`);
  });
  server.maxConnections = MAX_CONNECTIONS;
  try {
    if (path === null) throw new Error('the path of DATA_DIR is too long for a Unix socket');
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    if ((await readSocket(path)) !== null) throw new Error('another server uses this DATA_DIR');
    if (!isPipe(path)) await rm(path, { force: true }); // left by a server that was killed
    await listen(server, path);
    if (!isPipe(path)) await chmod(path, 0o600);
  } catch (error) {
    log.warn('other processes cannot look up the address of this server', { error });
  }
  return {
    close: () =>
      new Promise((closed) => {
        if (server.listening) server.close(() => closed());
        else closed();
      }),
  };
}

/**
 * The URL of the server of DATA_DIR; null if none is running. Only reads a socket of this user, so that other
 * users cannot redirect secrets to their own server.
 */
export async function findServer(dataDir: string): Promise<string | null> {
  const path = socketIn(dataDir);
  if (path === null || !(await isOwn(path))) return null;
  const parsed = announcement.safeParse(parseJson((await readSocket(path)) ?? ''));
  return parsed.success ? parsed.data.url : null;
}

/** Null if the path is too long for a socket, even relative to the working directory. */
function socketIn(dataDir: string): string | null {
  const folder = resolve(dataDir);
  if (process.platform === 'win32') {
    const name = createHash('sha256').update(folder.toLowerCase()).digest('hex').slice(0, 32);
    return `\\\\.\\pipe\\backup-observatory-server-${name}`;
  }
  const path = join(folder, 'server.sock');
  return [path, relative('', path)].find(fitsSocketPath) ?? null;
}

const isPipe = (path: string) => path.startsWith('\\\\');

async function isOwn(path: string): Promise<boolean> {
  if (isPipe(path)) return true;
  try {
    return (await lstat(path)).uid === process.getuid?.();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EACCES') return false;
    throw error;
  }
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ path }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** Reads everything from a socket; null if nothing listens there, or it sends too much or too slowly. */
function readSocket(path: string): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    let text = '';
    const end = (received: string | null) => {
      socket.destroy();
      resolve(received);
    };
    socket.setTimeout(TIMEOUT_MS, () => end(null));
    socket
      .setEncoding('utf8')
      .on('data', (chunk: string) => {
        text += chunk;
        if (text.length > MAX_LENGTH) end(null);
      })
      .once('end', () => end(text))
      .once('error', () => end(null));
  });
}

import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join, relative, resolve } from 'node:path';
import { z } from 'zod';
import { fitsSocketPath } from '../lib/database/local-socket.ts';
import { parseJson } from '../lib/json.ts';
import type { Log } from '../lib/log.ts';

/** What the server tells whoever connects: one line of JSON. */
const told = z.object({ url: z.url({ protocol: /^https?$/ }) });

const MAX_ANSWER = 2_048;
const ANSWER_WITHIN_MS = 2_000;
/** Connections at a time. Each lasts for one line. */
const MAX_CONNECTIONS = 64;

/** An address that is being told; `close` ends that. */
export interface AnnouncedServer {
  close(): Promise<void>;
}

/**
 * Tells other processes of the same user where this server listens, over the socket `server.sock` in
 * DATA_DIR, which nobody else may connect to. What cannot be told is logged: the server works without.
 */
export async function announceServer(
  dataDir: string,
  url: string,
  log: Log,
): Promise<AnnouncedServer> {
  const path = socketIn(dataDir);
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.setTimeout(ANSWER_WITHIN_MS, () => socket.destroy());
    socket.resume().end(`${JSON.stringify({ url })}\n`);
  });
  server.maxConnections = MAX_CONNECTIONS;
  try {
    if (path === null) throw new Error('DATA_DIR has too long a path for a Unix socket');
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    if ((await ask(path)) !== null) throw new Error('another server runs on this DATA_DIR');
    if (!isPipe(path)) await rm(path, { force: true }); // of a server that was killed
    await listen(server, path);
    if (!isPipe(path)) await chmod(path, 0o600);
  } catch (error) {
    log.warn('other processes cannot ask where this server listens', { error });
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
 * Where the server of DATA_DIR listens; null when none runs. Only a socket that belongs to this user is
 * asked, so that nobody else can name an address that secrets are then sent to.
 */
export async function findServer(dataDir: string): Promise<string | null> {
  const path = socketIn(dataDir);
  if (path === null || !(await isOwn(path))) return null;
  const parsed = told.safeParse(parseJson((await ask(path)) ?? ''));
  return parsed.success ? parsed.data.url : null;
}

/** Null when the path is too long for a socket, also from where this process is. */
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
  return new Promise((listens, fails) => {
    server.once('error', fails);
    server.listen({ path }, () => {
      server.off('error', fails);
      listens();
    });
  });
}

/** What a socket says; null when nobody listens, or says too much or nothing in time. */
function ask(path: string): Promise<string | null> {
  return new Promise((answer) => {
    const socket = connect({ path });
    let text = '';
    const end = (said: string | null) => {
      socket.destroy();
      answer(said);
    };
    socket.setTimeout(ANSWER_WITHIN_MS, () => end(null));
    socket
      .setEncoding('utf8')
      .on('data', (chunk: string) => {
        text += chunk;
        if (text.length > MAX_ANSWER) end(null);
      })
      .once('end', () => end(text))
      .once('error', () => end(null));
  });
}

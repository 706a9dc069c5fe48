import { connect, type NetConnectOpts, Socket } from 'node:net';
import { relative } from 'node:path';

/** Where a Postgres server listens: a host, or a directory of Unix sockets. */
export interface ServerAddress {
  host: string;
  port: number;
}

const PIPES = String.raw`\\.\pipe\ `.trim();

/**
 * The path of a server's Unix socket (named pipe on Windows); null for a network host. Socket paths are
 * limited to about a hundred bytes, so a long path is made relative to the working directory.
 */
export function localSocketPath({ host, port }: ServerAddress): string | null {
  if (host.startsWith(PIPES)) return host;
  if (!host.startsWith('/')) return null;
  const path = `${host}/.s.PGSQL.${port}`;
  return fitsSocketPath(path) ? path : shorter(path, relative('', path));
}

/** Whether a path is short enough for a socket. */
export function fitsSocketPath(path: string): boolean {
  if (path.startsWith(PIPES)) return true;
  return Buffer.byteLength(path) <= (process.platform === 'linux' ? 107 : 103);
}

/** Connects to a server over TCP, a Unix socket or a named pipe. */
export function connectToServer(address: ServerAddress): Socket {
  const path = localSocketPath(address);
  return connect(path === null ? { host: address.host, port: address.port } : { path });
}

/** A socket factory for the driver, which by itself supports neither named pipes nor long paths. */
export function socketFactory(address: ServerAddress): (() => Socket) | undefined {
  const path = localSocketPath(address);
  if (path === null) return undefined;
  return () => {
    const socket = new Socket();
    const target: NetConnectOpts = { path };
    const open = socket.connect.bind(socket);
    return Object.assign(socket, { connect: () => open(target) });
  };
}

function shorter(one: string, other: string): string {
  return Buffer.byteLength(other) < Buffer.byteLength(one) ? other : one;
}

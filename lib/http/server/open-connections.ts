import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { isInNetworks, type Network, parseAddress } from '../../text/network.ts';

/**
 * The open connections of a server, within its limits. When a limit is reached, a new connection replaces the
 * one that has been idle longest (of the same address, if that address is at its limit). If none is idle, the
 * new connection is rejected.
 */
export class OpenConnections {
  readonly #limits: ConnectionLimits | null;
  readonly #isIdle: (socket: Socket) => boolean;
  readonly #onRejected: (address: string) => void;
  /** Connections by address and in total, each in the order of last use. */
  readonly #byAddress = new Map<string, Set<Socket>>();
  readonly #all = new Set<Socket>();

  constructor(options: {
    limits: ConnectionLimits | null;
    isIdle(socket: Socket): boolean;
    onRejected(address: string): void;
  }) {
    this.#limits = options.limits;
    this.#isIdle = options.isIdle;
    this.#onRejected = options.onRejected;
  }

  /** Accepts a new connection until it closes, or destroys it and returns false. */
  admit(socket: Socket): boolean {
    const address = addressOf(socket);
    if (!this.#makeRoom(address)) {
      socket.destroy();
      this.#onRejected(address);
      return false;
    }
    this.#add(socket, address);
    socket.once('close', () => this.#remove(socket, address));
    return true;
  }

  /** Marks a connection as just used. */
  touch(socket: Socket): void {
    if (!this.#all.has(socket)) return;
    const address = addressOf(socket);
    this.#remove(socket, address);
    this.#add(socket, address);
  }

  all(): ReadonlySet<Socket> {
    return this.#all;
  }

  #makeRoom(address: string): boolean {
    const limits = this.#limits;
    if (limits === null) return true;
    const own = this.#byAddress.get(address);
    if (own && own.size >= limits.perAddress && hasOwnLimit(address, limits)) {
      return this.#endIdle(own);
    }
    return this.#all.size < limits.total || this.#endIdle(this.#all);
  }

  #endIdle(sockets: ReadonlySet<Socket>): boolean {
    for (const socket of sockets) {
      if (!this.#isIdle(socket)) continue;
      this.#remove(socket, addressOf(socket));
      socket.destroy();
      return true;
    }
    return false;
  }

  #add(socket: Socket, address: string): void {
    this.#all.add(socket);
    const own = this.#byAddress.get(address);
    if (own) own.add(socket);
    else this.#byAddress.set(address, new Set([socket]));
  }

  #remove(socket: Socket, address: string): void {
    this.#all.delete(socket);
    const own = this.#byAddress.get(address);
    own?.delete(socket);
    if (own?.size === 0) this.#byAddress.delete(address);
  }
}

function addressOf({ remoteAddress = '' }: Socket): string {
  return parseAddress(remoteAddress) ?? remoteAddress;
}

/** How many connections a server accepts. */
export interface ConnectionLimits {
  total: number;
  perAddress: number;
  /** Addresses shared by many clients, such as proxies. Only the total applies to them. */
  shared: readonly Network[];
}

const MAX_TOTAL = 4_096;
const MAX_PER_ADDRESS = 1_024;
/** Assumed where the system does not expose its limit of open files. */
const USUAL_FILE_LIMIT = 1_024;

/**
 * Derives the limits from the number of files that the process may open. A quarter is reserved for the
 * database, git and files; one address may use half of the rest.
 */
export function chooseConnectionLimits(
  shared: readonly Network[],
  fileLimit: number = readFileLimit(),
): ConnectionLimits {
  const total = Math.max(2, Math.min(MAX_TOTAL, Math.floor(fileLimit * 0.75)));
  return { total, perAddress: Math.min(MAX_PER_ADDRESS, Math.floor(total / 2)), shared };
}

/** Whether the limit per address applies to this address. */
function hasOwnLimit(address: string, { shared }: ConnectionLimits): boolean {
  return !isInNetworks(address, shared);
}

/** The limit of open files of this process (Linux only). */
function readFileLimit(): number {
  let limits = '';
  try {
    limits = readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return USUAL_FILE_LIMIT; // not Linux, or /proc is not mounted
  }
  const [, soft] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
  return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
}

import type { Socket } from 'node:net';
import { type ConnectionLimits, isLimitedAlone } from './connection-limits.ts';
import { parseAddress } from './network.ts';

/**
 * The open connections of a server, within its limits. One that comes when there is no room takes the place
 * of the one that has been idle longest, of its own address when that has too many; it is refused only when
 * none is idle.
 */
export class OpenConnections {
  readonly #limits: ConnectionLimits | null;
  readonly #isIdle: (socket: Socket) => boolean;
  readonly #onRefused: (address: string) => void;
  /** Those of each address and all, the one that was used last at the end. */
  readonly #byAddress = new Map<string, Set<Socket>>();
  readonly #all = new Set<Socket>();

  constructor(options: {
    limits: ConnectionLimits | null;
    isIdle(socket: Socket): boolean;
    onRefused(address: string): void;
  }) {
    this.#limits = options.limits;
    this.#isIdle = options.isIdle;
    this.#onRefused = options.onRefused;
  }

  /** Takes a new connection, or destroys it and returns false. It is forgotten when it closes. */
  admit(socket: Socket): boolean {
    const address = addressOf(socket);
    if (!this.#makeRoom(address)) {
      socket.destroy();
      this.#onRefused(address);
      return false;
    }
    this.#add(socket, address);
    socket.once('close', () => this.#remove(socket, address));
    return true;
  }

  /** Notes that a connection was used just now. */
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
    if (own && own.size >= limits.perAddress && isLimitedAlone(address, limits)) {
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

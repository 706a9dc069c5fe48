import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The unfinished responses of a server, by connection. */
export class OpenResponses {
  readonly #bySocket = new Map<Socket, Set<ServerResponse>>();

  /** Tracks a response until its `close`. */
  add(response: ServerResponse): void {
    const { socket } = response.req;
    this.#bySocket.set(socket, (this.#bySocket.get(socket) ?? new Set()).add(response));
    response.once('close', () => this.delete(response));
  }

  delete(response: ServerResponse): void {
    const { socket } = response.req;
    const responses = this.#bySocket.get(socket);
    responses?.delete(response);
    if (responses?.size === 0) this.#bySocket.delete(socket);
  }

  /** Drops the responses of a closed connection: pipelined ones emit no `close` of their own. */
  forget(socket: Socket): void {
    this.#bySocket.delete(socket);
  }

  /** The responses of one connection in the order of their requests, which is the order they are sent in. */
  of(socket: Socket): readonly ServerResponse[] {
    return [...(this.#bySocket.get(socket) ?? [])];
  }

  all(): readonly ServerResponse[] {
    return [...this.#bySocket.values()].flatMap((responses) => [...responses]);
  }
}

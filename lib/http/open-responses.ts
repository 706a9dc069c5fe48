import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The answers of a server that are not finished, by their connections. */
export class OpenResponses {
  readonly #bySocket = new Map<Socket, Set<ServerResponse>>();

  /** Counts an answer until its `close`. */
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

  /** Lets go of those of a connection that is gone: what waited behind another one has no end of its own. */
  forget(socket: Socket): void {
    this.#bySocket.delete(socket);
  }

  /** Those of one connection, in the order of their requests: the others wait for the first. */
  of(socket: Socket): readonly ServerResponse[] {
    return [...(this.#bySocket.get(socket) ?? [])];
  }

  all(): readonly ServerResponse[] {
    return [...this.#bySocket.values()].flatMap((responses) => [...responses]);
  }
}

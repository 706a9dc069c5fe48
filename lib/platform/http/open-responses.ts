import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The answers of a server that are not finished, by their connections. */
export class OpenResponses {
  readonly #bySocket = new Map<Socket, Set<ServerResponse>>();
  readonly #watched = new WeakSet<Socket>();

  /** Counts an answer until its `close`, which is sure to come then. */
  add(response: ServerResponse): void {
    const { socket } = response.req;
    this.#bySocket.set(socket, (this.#bySocket.get(socket) ?? new Set()).add(response));
    response.once('close', () => this.delete(response));
    if (this.#watched.has(socket)) return;
    this.#watched.add(socket);
    socket.once('close', () => this.#closeWaiting(socket));
  }

  delete(response: ServerResponse): void {
    const { socket } = response.req;
    const responses = this.#bySocket.get(socket);
    responses?.delete(response);
    if (responses?.size === 0) this.#bySocket.delete(socket);
  }

  /** Those of one connection, in the order of their requests. */
  of(socket: Socket): readonly ServerResponse[] {
    return [...(this.#bySocket.get(socket) ?? [])];
  }

  all(): readonly ServerResponse[] {
    return [...this.#bySocket.values()].flatMap((responses) => [...responses]);
  }

  /**
   * Node closes only the answer whose turn it is: those of the requests that were pipelined behind it
   * would never learn that their connection is gone.
   */
  #closeWaiting(socket: Socket): void {
    for (const response of this.of(socket)) {
      if (response.socket === null) response.destroy().emit('close');
    }
  }
}

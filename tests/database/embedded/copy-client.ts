import type { Connection, Submittable } from 'pg';

/** What `pg` has on its connection for those who know of it. */
interface CopyConnection extends Connection {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

/**
 * A COPY … FROM STDIN or TO STDOUT for a `pg` client, which has none of its own. Resolves with what
 * came back: the command tag, or the rows.
 */
export class Copy implements Submittable {
  readonly done: Promise<string>;
  readonly #sql: string;
  readonly #data: readonly string[];
  #answer = '';
  #tag = '';
  #error: Error | null = null;
  #settle: { resolve(text: string): void; reject(error: Error): void };

  constructor(sql: string, data: readonly string[] = []) {
    this.#sql = sql;
    this.#data = data;
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    this.done = promise;
    this.#settle = { resolve, reject };
  }

  submit(connection: Connection): void {
    connection.query(this.#sql);
  }

  handleCopyInResponse(connection: CopyConnection): void {
    for (const chunk of this.#data) connection.sendCopyFromChunk(Buffer.from(chunk));
    connection.endCopyFrom();
  }

  handleCopyData({ chunk }: { chunk: Buffer }): void {
    this.#answer += chunk.toString();
  }

  handleCommandComplete({ text }: { text: string }): void {
    this.#tag = text;
  }

  handleError(error: Error): void {
    this.#error = error;
    this.#settle.reject(error);
  }

  handleReadyForQuery(): void {
    if (this.#error === null) this.#settle.resolve(this.#answer || this.#tag);
  }
}

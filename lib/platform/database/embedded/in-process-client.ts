import { type Duplex, duplexPair } from 'node:stream';
import { Client, type QueryResultRow } from 'pg';
import { DEFAULT_QUERY_TIMEOUT_MS, type QueryOptions, type Statement } from '../database.ts';
import { translateDatabaseError } from '../failure.ts';
import type { SharedSession } from './session-client.ts';
import type { Turn } from './turn-queue.ts';
import { WireSession } from './wire-session.ts';

/**
 * This process's own client of the embedded database: a `pg` client whose connection ends in this
 * process. So statements are prepared, sent and read by the same driver as over TCP, and values and
 * types are the same.
 */
export class InProcessClient {
  readonly #shared: SharedSession;
  readonly #client: Client;
  readonly #served: Promise<void>;

  private constructor(shared: SharedSession, client: Client, served: Promise<void>) {
    this.#shared = shared;
    this.#client = client;
    this.#served = served;
  }

  static async connect(shared: SharedSession): Promise<InProcessClient> {
    const [near, far] = duplexPair();
    const session = new WireSession({ shared, id: 0, stream: far, inProcess: true });
    const client = new Client({
      stream: () => asSocket(near),
      user: 'postgres',
      database: 'postgres',
      host: 'in-process',
      ssl: false,
    });
    client.on('error', (error) => shared.log.error('the database is out of reach', { error }));
    const served = session.serve();
    await client.connect();
    return new InProcessClient(shared, client, served);
  }

  /**
   * Runs one statement in a turn of its own. The time limit is for the wait: a statement that runs
   * cannot be stopped.
   */
  async query<Row>(
    { name, text }: Statement,
    values: readonly unknown[] = [],
    { timeoutMs = DEFAULT_QUERY_TIMEOUT_MS }: QueryOptions = {},
  ): Promise<Row[]> {
    try {
      const turn = await this.#takeTurn(timeoutMs);
      try {
        const config = { text, values: [...values] };
        const result = await this.#client.query<Row & QueryResultRow>(
          name === undefined ? config : { ...config, name },
        );
        return result.rows;
      } finally {
        turn.release();
      }
    } catch (error) {
      throw translateDatabaseError(error);
    }
  }

  /** Nothing may run any more. */
  async close(): Promise<void> {
    await this.#client.end();
    await this.#served;
  }

  async #takeTurn(timeoutMs: number): Promise<Turn> {
    const { turns, clock } = this.#shared;
    if (!turns.held) return turns.acquire();
    const timeout = new AbortController();
    const done = new AbortController();
    clock.sleep(timeoutMs, done.signal).then(
      () => timeout.abort(new DOMException('no turn came in time', 'TimeoutError')),
      (error: unknown) => {
        if (!done.signal.aborted) timeout.abort(error);
      },
    );
    try {
      return await turns.acquire(timeout.signal);
    } finally {
      done.abort();
    }
  }
}

/** A stream with what `pg` asks of a socket. */
function asSocket(stream: Duplex): Duplex {
  return Object.assign(stream, {
    connect: () => queueMicrotask(() => stream.emit('connect')),
    setNoDelay: () => stream,
    setKeepAlive: () => stream,
    ref: () => stream,
    unref: () => stream,
  });
}

import type { Duplex } from 'node:stream';
import { setImmediate as nextRound } from 'node:timers/promises';
import { SessionClient, type SharedSession } from './session-client.ts';
import { startTimeLimit } from './time-limit.ts';
import { COPY_LIMIT, copyInResponse, isCopyFromClient } from './wire-copy.ts';
import {
  copyFailMessage,
  errorMessage,
  FatalError,
  readCstring,
  type WireMessage,
} from './wire-messages.ts';
import { readStartupSettings } from './wire-settings.ts';
import { acceptStartup, receiveStartup } from './wire-startup.ts';
import { ClientGone, WireStream } from './wire-stream.ts';

/**
 * How long a client in an open transaction may do nothing, or not read what it asked for, while others
 * wait, in milliseconds.
 */
const IDLE_TRANSACTION_LIMIT_MS = 30_000;
/** How long a connection may take to say who it is, in milliseconds. */
const STARTUP_LIMIT_MS = 5_000;
/** A batch that grows beyond this runs before its Sync has come, in bytes. */
const BATCH_LIMIT = 1024 * 1024;

export interface WireSessionOptions {
  shared: SharedSession;
  /** Tells clients apart. */
  id: number;
  stream: Duplex;
  /** The client is this process's own; its owner holds a turn around each of its statements. */
  inProcess: boolean;
  /** Sent to the client in place of a welcome. */
  refusal?: FatalError | undefined;
}

/**
 * One client of the Postgres protocol. It collects the client's messages up to a Sync, a Flush or a
 * simple query and runs them together.
 *
 * All clients share one Postgres session. Each has its own transactions, settings and protocol-level
 * prepared statements. Common to all are temporary tables, statements of SQL's PREPARE, cursors WITH
 * HOLD and session-level advisory locks. LISTEN is accepted, and nothing is ever notified.
 */
export class WireSession {
  readonly #shared: SharedSession;
  readonly #id: number;
  readonly #refusal: FatalError | undefined;
  readonly #stream: WireStream;
  readonly #client: SessionClient;
  #batch: Buffer[] = [];
  #batchBytes = 0;

  constructor({ shared, id, stream, inProcess, refusal }: WireSessionOptions) {
    this.#shared = shared;
    this.#id = id;
    this.#refusal = refusal;
    this.#stream = new WireStream(stream);
    this.#client = new SessionClient(shared, id, inProcess);
  }

  /** Serves the client until it leaves or is ended. Never rejects. */
  async serve(): Promise<void> {
    let last: Buffer | null = null;
    try {
      await this.#startUp();
      for (;;) {
        const message = await this.#nextMessage();
        if (message.type === 'X') break;
        await this.#receive(message);
      }
    } catch (error) {
      last = this.#farewell(this.#stream.signal.aborted ? this.#stream.signal.reason : error);
    }
    // First, so that a client that goes does not wait for a turn to be cleaned up after.
    this.#stream.end(last);
    try {
      await this.#client.leave();
    } catch (error) {
      this.#shared.log.warn('a database client was not cleaned up after', { error });
    }
  }

  /** Ends the client with this reason as soon as its running statement has ended. */
  abort(reason: Error): void {
    this.#stream.abort(reason);
  }

  async #startUp(): Promise<void> {
    const parameters = await this.#within(
      STARTUP_LIMIT_MS,
      new FatalError('08006', 'no startup packet came in time'),
      receiveStartup(this.#stream),
    );
    if (this.#refusal !== undefined) throw this.#refusal;
    const settings = readStartupSettings(parameters);
    this.#client.begin(settings);
    acceptStartup(this.#stream, this.#id, this.#shared.settings.defaults, settings);
  }

  /** The next message, or the end of a client that is idle in a transaction that others wait for. */
  #nextMessage(): Promise<WireMessage> {
    return this.#limitTurn(this.#stream.nextMessage(), 'idle in a transaction while others wait');
  }

  /** Ends the client when it holds the turn, others wait, and the work that is up to it takes too long. */
  #limitTurn<Result>(work: Promise<Result>, message: string): Promise<Result> {
    if (!this.#client.holdsTurn) return work;
    const reason = new FatalError('25P03', message);
    return this.#within(IDLE_TRANSACTION_LIMIT_MS, reason, work, (signal) =>
      this.#shared.turns.whenWanted(signal),
    );
  }

  /** Aborts the session with `reason` when the work takes too long, once the condition holds too. */
  async #within<Result>(
    limitMs: number,
    reason: FatalError,
    work: Promise<Result>,
    condition?: (signal: AbortSignal) => Promise<void>,
  ): Promise<Result> {
    const lift = startTimeLimit({
      clock: this.#shared.clock,
      limitMs,
      reason,
      end: (cause) => this.#stream.abort(cause),
      ...(condition && { condition }),
    });
    try {
      return await work;
    } finally {
      lift();
    }
  }

  async #receive({ type, raw, body }: WireMessage): Promise<void> {
    const { statements } = this.#client;
    switch (type) {
      case 'Q':
        return this.#query(raw, readCstring(body).text);
      case 'P': {
        const { message, sql } = statements.parse(body);
        this.#client.noteText(sql);
        return this.#collect(message);
      }
      case 'B': {
        const { message, sql } = statements.bind(body);
        if (sql !== undefined) this.#client.noteText(sql);
        return this.#collect(message);
      }
      case 'D':
      case 'C':
        return this.#collect(statements.describeOrClose(type, body));
      case 'E':
        return this.#collect(raw);
      case 'S':
      case 'H':
      case 'F':
        this.#batch.push(raw);
        return this.#run('');
      case 'd':
      case 'c':
      case 'f':
        // The rest of a COPY that has failed already.
        return;
      default:
        throw new FatalError('08P01', `invalid frontend message type ${type.charCodeAt(0)}`);
    }
  }

  async #collect(message: Buffer): Promise<void> {
    this.#batch.push(message);
    this.#batchBytes += message.length;
    if (this.#batchBytes > BATCH_LIMIT) await this.#run('');
  }

  async #query(raw: Buffer, sql: string): Promise<void> {
    this.#client.noteText(sql);
    this.#client.statements.dropUnnamed();
    this.#batch.push(raw);
    if (!isCopyFromClient(sql)) return this.#run('');
    this.#stream.write(copyInResponse(sql));
    this.#batch.push(...(await this.#receiveCopy()));
    return this.#run('G');
  }

  /** The data of a COPY up to its end, or a CopyFail in its place. */
  async #receiveCopy(): Promise<Buffer[]> {
    let data: Buffer[] = [];
    let bytes = 0;
    for (;;) {
      const { type, raw } = await this.#nextMessage();
      if (type === 'd') {
        bytes += raw.length;
        if (bytes > COPY_LIMIT) data = [];
        else data.push(raw);
      } else if (type === 'c') {
        const limit = `one COPY takes at most ${COPY_LIMIT / 1024 / 1024} MiB here`;
        return bytes > COPY_LIMIT ? [copyFailMessage(limit)] : [...data, raw];
      } else if (type === 'f') {
        return [raw];
      } else if (type === 'X') {
        throw new ClientGone('the client left in a COPY');
      } else if (type !== 'S' && type !== 'H') {
        throw new FatalError('08P01', 'a COPY was left without CopyDone or CopyFail');
      }
    }
  }

  async #run(withhold: string): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    this.#batchBytes = 0;
    await this.#client.run(batch, withhold, this.#stream);
    await this.#limitTurn(this.#stream.drained(), 'an answer was not read while others wait');
    // Statements that came together would else run without a break, unheard by timers and other sockets.
    if (this.#stream.hasMore) await nextRound();
  }

  /** What the client is told at the end. */
  #farewell(error: unknown): Buffer | null {
    if (error instanceof ClientGone) return null;
    if (error instanceof FatalError) return errorMessage('FATAL', error);
    this.#shared.log.error('a database client was ended', { error, client: this.#id });
    return errorMessage('FATAL', { code: 'XX000', message: 'internal error' });
  }
}

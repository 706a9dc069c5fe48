import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { secretsEqual } from '../../security/crypto.ts';
import { type OneTag, SessionClient, type SharedSession } from './session-client.ts';
import { startTimeLimit } from './time-limit.ts';
import { copyInResponse, isCopyFromClient, MAX_COPY_BYTES } from './wire-copy.ts';
import { DISCARD_ALL, isDiscardAll } from './wire-discard.ts';
import {
  copyFailMessage,
  errorMessage,
  FatalError,
  queryMessage,
  readCstring,
  type WireMessage,
} from './wire-messages.ts';
import { authenticate, type ScramSecret } from './wire-scram.ts';
import { readStartupSettings } from './wire-settings.ts';
import { acceptStartup, type CancelRequest, checkNames, receiveStartup } from './wire-startup.ts';
import { ClientGone, WireStream } from './wire-stream.ts';

/**
 * How long a client in a transaction may be idle, or not read its results, while others wait.
 */
const IDLE_TRANSACTION_TIMEOUT_MS = 30_000;
/** How long a connection may take to authenticate. */
const STARTUP_TIMEOUT_MS = 5_000;
/** A larger batch runs before its Sync has arrived. */
const MAX_BATCH_BYTES = 1024 * 1024;

export interface WireSessionOptions {
  shared: SharedSession;
  /** Identifies the client. */
  id: number;
  stream: Duplex;
  /** The password verifier; null when no password is required. */
  secret: ScramSecret | null;
  /** Refuses the client with this error. */
  refusal?: FatalError | undefined;
  /** Receives requests to cancel another client's statement. */
  onCancel(request: CancelRequest): void;
}

/**
 * The connection of one Postgres client. Collects messages up to a Sync, Flush or simple query and runs
 * them together.
 *
 * All clients share one Postgres session. Each has its own transactions, settings and protocol-level
 * prepared statements. Temporary tables, SQL PREPARE statements, cursors WITH HOLD and session-level
 * advisory locks are shared. LISTEN is accepted, but notifications are never delivered.
 */
export class WireSession {
  readonly #shared: SharedSession;
  readonly #options: WireSessionOptions;
  /** The secret key that a cancel request must contain. */
  readonly #key = randomBytes(4);
  readonly #stream: WireStream;
  readonly #client: SessionClient;
  #batch: Buffer[] = [];
  #batchBytes = 0;

  constructor(options: WireSessionOptions) {
    this.#shared = options.shared;
    this.#options = options;
    this.#stream = new WireStream(options.stream);
    this.#client = new SessionClient(options.shared, options.id);
  }

  /** Serves the client until it disconnects or is disconnected. Never rejects. */
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
    // Close first: cleaning up may have to wait for a lease.
    this.#stream.end(last);
    try {
      await this.#client.leave();
    } catch (error) {
      this.#shared.log.warn('could not clean up after a database client', { error });
    }
  }

  /** Disconnects the client with this reason as soon as its running statement has ended. */
  abort(reason: Error): void {
    this.#stream.abort(reason);
  }

  /** Cancels the client's statement, if the key is correct. */
  cancel(key: Buffer): void {
    if (secretsEqual(key.toString('hex'), this.#key.toString('hex'))) this.#client.cancel();
  }

  async #startUp(): Promise<void> {
    const { id, refusal } = this.#options;
    const parameters = await this.#within(
      STARTUP_TIMEOUT_MS,
      new FatalError('08006', 'no startup packet came in time'),
      this.#logIn(),
    );
    if (refusal !== undefined) throw refusal;
    checkNames(parameters);
    const settings = readStartupSettings(parameters);
    this.#client.begin(settings);
    acceptStartup(this.#stream, { id, key: this.#key }, this.#shared.settings.defaults, settings);
  }

  /** Authenticates the client and returns its startup parameters. */
  async #logIn(): Promise<ReadonlyMap<string, string>> {
    const { secret, onCancel } = this.#options;
    const received = await receiveStartup(this.#stream);
    if ('key' in received) {
      onCancel(received);
      throw new ClientGone('the client asked to cancel');
    }
    if (secret !== null) await authenticate(this.#stream, secret, this.#shared.clock);
    return received;
  }

  /** Waits for the next message. Disconnects a client that is idle in a transaction while others wait. */
  #nextMessage(): Promise<WireMessage> {
    return this.#limitLease(this.#stream.nextMessage(), 'idle in a transaction while others wait');
  }

  /** Disconnects a client that takes too long while it holds the lease and others wait. */
  #limitLease<Result>(work: Promise<Result>, message: string): Promise<Result> {
    if (!this.#client.holdsLease) return work;
    const reason = new FatalError('25P03', message);
    return this.#within(IDLE_TRANSACTION_TIMEOUT_MS, reason, work, (signal) =>
      this.#shared.leases.whenWanted(signal),
    );
  }

  /** Aborts the session with `reason` when the work takes too long and the condition holds. */
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
        // Remaining data of a failed COPY.
        return;
      default:
        throw new FatalError('08P01', `invalid frontend message type ${type.charCodeAt(0)}`);
    }
  }

  async #collect(message: Buffer): Promise<void> {
    this.#batch.push(message);
    this.#batchBytes += message.length;
    if (this.#batchBytes > MAX_BATCH_BYTES) await this.#run('');
  }

  async #query(raw: Buffer, sql: string): Promise<void> {
    this.#client.noteText(sql);
    this.#client.statements.dropUnnamed();
    if (isDiscardAll(sql)) {
      this.#batch.push(queryMessage(DISCARD_ALL.sql));
      return this.#run('C', DISCARD_ALL);
    }
    this.#batch.push(raw);
    if (!isCopyFromClient(sql)) return this.#run('');
    this.#stream.write(copyInResponse(sql));
    this.#batch.push(...(await this.#receiveCopy()));
    return this.#run('G');
  }

  /** Receives the data of a COPY. Returns a CopyFail instead when it is aborted or too large. */
  async #receiveCopy(): Promise<Buffer[]> {
    let data: Buffer[] = [];
    let bytes = 0;
    for (;;) {
      const { type, raw } = await this.#nextMessage();
      if (type === 'd') {
        bytes += raw.length;
        if (bytes > MAX_COPY_BYTES) data = [];
        else data.push(raw);
      } else if (type === 'c') {
        const limit = `one COPY takes at most ${MAX_COPY_BYTES / 1024 / 1024} MiB here`;
        return bytes > MAX_COPY_BYTES ? [copyFailMessage(limit)] : [...data, raw];
      } else if (type === 'f') {
        return [raw];
      } else if (type === 'X') {
        throw new ClientGone('the client left in a COPY');
      } else if (type !== 'S' && type !== 'H') {
        throw new FatalError('08P01', 'a COPY was left without CopyDone or CopyFail');
      }
    }
  }

  async #run(withhold: string, instead?: OneTag): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    this.#batchBytes = 0;
    await this.#client.run(batch, { withhold, instead }, this.#stream);
    await this.#limitLease(this.#stream.drained(), 'an answer was not read while others wait');
    // Pipelined statements would otherwise starve timers and other sockets.
    if (this.#stream.hasMore) await yieldToEventLoop();
  }

  /** The last message to the client. */
  #farewell(error: unknown): Buffer | null {
    if (error instanceof ClientGone) return null;
    if (error instanceof FatalError) return errorMessage('FATAL', error);
    this.#shared.log.error('a database client failed', { error, client: this.#options.id });
    return errorMessage('FATAL', { code: 'XX000', message: 'internal error' });
  }
}

import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { secretsEqual } from '../../security/crypto.ts';
import { ClientSession, type Shared } from './client-session.ts';
import { ClientSettings, readStartupSettings } from './client-settings.ts';
import { ClientGone, MessageStream } from './message-stream.ts';
import { FatalError, fatalMessage, readCstring, type WireMessage } from './messages.ts';
import {
  acceptStartup,
  type CancelRequest,
  checkNames,
  checkPassword,
  receiveStartup,
} from './startup.ts';
import { startTimeLimit } from './time-limit.ts';

/** How long a client in a transaction may be idle, or not read its results, while others wait. */
const IDLE_TRANSACTION_TIMEOUT_MS = 30_000;
/** How long a connection may take to authenticate. */
const STARTUP_TIMEOUT_MS = 5_000;

interface ConnectionOptions {
  shared: Shared;
  /** Identifies the client. */
  id: number;
  socket: Socket;
  /** The password that the client must send; null when none is required. */
  password: string | null;
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
export class ClientConnection {
  readonly #options: ConnectionOptions;
  /** The secret key that a cancel request must contain. */
  readonly #key = randomBytes(4);
  readonly #stream: MessageStream;
  #session: ClientSession | null = null;
  #batch: Buffer[] = [];

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#stream = new MessageStream(options.socket);
  }

  /** Serves the client until it disconnects or is disconnected. Never rejects. */
  async serve(): Promise<void> {
    const { log } = this.#options.shared;
    try {
      await this.#serve();
    } catch (error) {
      this.#sendFatalError(this.#stream.signal.aborted ? this.#stream.signal.reason : error);
    }
    // Close first: cleaning up may have to wait for a lease.
    this.#stream.end();
    try {
      await this.#session?.leave();
    } catch (error) {
      log.warn('could not clean up after a database client', { error });
    }
  }

  /** Disconnects the client with this reason as soon as its running statement has ended. */
  abort(reason: Error): void {
    this.#stream.abort(reason);
  }

  /** Lets this time of the client's running statement pass at once. */
  hasten(ms: number): void {
    this.#session?.hasten(ms);
  }

  /** Cancels the client's statement, if the key is correct. */
  cancel(key: Buffer): void {
    if (secretsEqual(key.toString('hex'), this.#key.toString('hex'))) this.#session?.cancel();
  }

  async #serve(): Promise<void> {
    const { shared, id, refusal } = this.#options;
    const tooLate = new FatalError('08006', 'no startup packet came in time');
    const parameters = await this.#within(STARTUP_TIMEOUT_MS, tooLate, this.#logIn());
    if (refusal !== undefined) throw refusal;
    checkNames(parameters);
    const startup = readStartupSettings(parameters);
    const settings = new ClientSettings(shared.session, shared.defaults, startup);
    const session = new ClientSession(shared, this.#stream, id, settings);
    this.#session = session;
    acceptStartup(this.#stream, { id, key: this.#key }, settings.report());
    for (;;) {
      const message = await this.#whileIdle(session, this.#stream.nextMessage());
      if (message.type === 'X') return;
      await this.#receive(session, message);
    }
  }

  /** Authenticates the client and returns its startup parameters. */
  async #logIn(): Promise<ReadonlyMap<string, string>> {
    const { password, onCancel, shared } = this.#options;
    const received = await receiveStartup(this.#stream);
    if ('key' in received) {
      onCancel(received);
      throw new ClientGone('the client asked to cancel');
    }
    if (password !== null) await checkPassword(this.#stream, password, shared.clock);
    return received;
  }

  async #receive(session: ClientSession, { type, raw, body }: WireMessage): Promise<void> {
    switch (type) {
      case 'Q':
        session.noteText(readCstring(body).text);
        this.#batch.push(raw);
        return this.#run(session);
      case 'P':
      case 'B': {
        const { message, sql } =
          type === 'P' ? session.statements.parse(body) : session.statements.bind(body);
        session.noteText(sql);
        this.#batch.push(message);
        return;
      }
      case 'D':
      case 'C':
        this.#batch.push(session.statements.describeOrClose(type, body));
        return;
      case 'E':
        this.#batch.push(raw);
        return;
      case 'S':
      case 'H':
        this.#batch.push(raw);
        return this.#run(session);
      case 'd':
      case 'c':
      case 'f':
        // Data of a COPY FROM STDIN that was rejected.
        return;
      default:
        throw new FatalError('08P01', `invalid frontend message type ${type.charCodeAt(0)}`);
    }
  }

  async #run(session: ClientSession): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    await session.run(batch);
    await this.#whileIdle(session, this.#stream.drained());
    // Pipelined statements would otherwise starve timers and other sockets.
    if (this.#stream.hasMore) await yieldToEventLoop();
  }

  /** Disconnects a client that does nothing while it holds the lease and others wait. */
  #whileIdle<Result>(session: ClientSession, work: Promise<Result>): Promise<Result> {
    if (!session.holdsLease) return work;
    const { leases } = this.#options.shared;
    const reason = new FatalError('25P03', 'idle in a transaction while others wait');
    return this.#within(IDLE_TRANSACTION_TIMEOUT_MS, reason, work, () => leases.waiting > 0);
  }

  /** Disconnects the client with `reason` when the work takes too long and the condition holds. */
  async #within<Result>(
    limitMs: number,
    reason: FatalError,
    work: Promise<Result>,
    condition?: () => boolean,
  ): Promise<Result> {
    const { clock } = this.#options.shared;
    const end = () => this.abort(reason);
    const lift = startTimeLimit({ clock, limitMs, end, ...(condition && { condition }) });
    return work.finally(lift);
  }

  /** Sends the error that ends the connection. */
  #sendFatalError(error: unknown): void {
    if (error instanceof ClientGone) return;
    if (!(error instanceof FatalError)) {
      const { shared, id } = this.#options;
      shared.log.error('a database client failed', { error, client: id });
    }
    const shown =
      error instanceof FatalError ? error : { code: 'XX000', message: 'internal error' };
    this.#stream.write(fatalMessage(shown));
  }
}

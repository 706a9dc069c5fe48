import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Engine } from './engine.ts';
import { startTimeLimit } from './time-limit.ts';
import {
  copyFailMessage,
  errorMessage,
  FatalError,
  isAnswered,
  isOneStatement,
  queryMessage,
  readError,
  readRow,
} from './wire-messages.ts';
import { AnswerReader, splitMessages, type TransactionStatus } from './wire-readers.ts';

/** Message types, as bytes. */
const SYNC = 0x53;
const QUERY = 0x51;
const FLUSH = 0x48;

/**
 * PGlite reads COPY data from the current batch and exits when the batch ends too early. A CopyFail in every
 * batch turns that into an error; outside of a COPY it is ignored.
 */
const copyGuard = copyFailMessage('COPY FROM STDIN must be a simple query of one statement here');

const crashed = new FatalError('57P02', 'the statement crashed the embedded database');
const timedOut = new FatalError('57014', 'canceling statement due to statement timeout');

export interface BackendOptions {
  start: () => Promise<Engine>;
  /** Does committed data survive a crash, so that the database can be restarted? */
  restartable: boolean;
  /** Called once when the database has stopped and will not restart. */
  onStopped(): void;
  clock: Clock;
  log: Log;
}

export interface BackendOutput {
  /** Message types to withhold from `pass`. */
  withhold: string;
  /** Receives the answer in chunks while the statement runs. */
  pass(output: Buffer): void;
  /** Identifies the sender for `end`. */
  owner?: object;
}

/** The running batch, and why it was ended, if it was. */
interface Running {
  owner: object | undefined;
  endedBecause: FatalError | null;
}

/**
 * The one Postgres session there is. Whoever calls it holds the lease.
 *
 * In WebAssembly, Postgres cannot interrupt a statement, and a stack overflow crashes it. In both cases the
 * engine is killed and restarted, like a Postgres server after a crash: committed data is kept, and the
 * statement fails.
 */
export class EmbeddedBackend {
  /** The client that parsed the session's unnamed statement. A simple query drops that statement. */
  unnamedOwner: object | null = null;
  /** Increases whenever the prepared statements of all clients are dropped. */
  statementsEpoch = 0;
  /** Increases with every new session, which starts with default settings. */
  sessionEpoch = 0;
  readonly #options: BackendOptions;
  #engine: Engine;
  #status: TransactionStatus = 'I';
  #running: Running | null = null;
  #stopped = false;

  private constructor(options: BackendOptions, engine: Engine) {
    this.#options = options;
    this.#engine = engine;
  }

  static async start(options: BackendOptions): Promise<EmbeddedBackend> {
    return new EmbeddedBackend(options, await options.start());
  }

  /**
   * Runs messages that end with Sync, Flush or a simple query, and returns the parsed answer. Throws
   * FatalError when the client's connection must end, with 57P02 when the database has stopped.
   */
  async run(
    messages: readonly Buffer[],
    { withhold, pass, owner }: BackendOutput,
  ): Promise<AnswerReader> {
    if (this.#stopped) throw new FatalError(crashed.code, 'the embedded database has stopped');
    const last = messages.at(-1)?.[0];
    const guarded =
      last === SYNC || last === FLUSH
        ? [...messages.slice(0, -1), copyGuard, ...messages.slice(-1)]
        : [...messages, copyGuard];
    const answer = new AnswerReader(withhold, pass);
    const running: Running = { owner, endedBecause: null };
    this.#running = running;
    const failure = await this.#deliver(guarded, answer);
    if (failure !== null || (last === SYNC && answer.status === null)) {
      await this.#startAgain(running, failure);
      const reason = running.endedBecause ?? crashed;
      const isKnown = this.#status !== 'I' || isOneStatement(messages);
      // The client may believe it is in a transaction that no longer exists.
      if (!isAnswered(messages) || !isKnown || answer.isCut) throw reason;
      if (this.#status !== 'I') await this.#failTransaction();
      pass(errorMessage('ERROR', reason));
      answer.status = this.#status;
    }
    this.#status = answer.status ?? this.#status;
    if (last === QUERY) this.unnamedOwner = null;
    if (answer.tags.some((tag) => tag === 'DEALLOCATE ALL' || tag === 'DISCARD ALL')) {
      this.#forgetStatements();
    }
    return answer;
  }

  /** Runs an internal query and returns its rows as text. Throws FatalError with the database's error. */
  async ask(sql: string): Promise<(string | null)[][]> {
    const output: Buffer[] = [];
    await this.run([queryMessage(sql)], { withhold: '', pass: (piece) => output.push(piece) });
    const messages = splitMessages(Buffer.concat(output));
    const failure = messages.find(({ type }) => type === 'E');
    if (failure !== undefined) {
      const { code, message } = readError(failure.body);
      throw new FatalError(code, message);
    }
    return messages.filter(({ type }) => type === 'D').map(({ body }) => readRow(body));
  }

  /**
   * Ends the running batch with this reason, if it belongs to `owner` (when given). Does nothing for an
   * in-memory database, which would lose all its data.
   */
  end(reason: FatalError, owner?: object): void {
    const running = this.#running;
    if (running === null || (owner !== undefined && running.owner !== owner)) return;
    this.#endRunning(running, reason);
  }

  async close(): Promise<void> {
    if (!this.#stopped) await this.#engine.close();
  }

  /** Runs messages. Returns the error that kept Postgres from answering, or null. */
  async #deliver(messages: readonly Buffer[], answer: AnswerReader): Promise<Error | null> {
    const running = this.#running;
    let lift: (() => void) | null = null;
    try {
      await this.#engine.run(messages, {
        onOutput: (output) => answer.push(output),
        onLimit: (limitMs) => {
          // Internal statements run with a client's settings, but must not be limited by them.
          if (running?.owner === undefined) return;
          lift = startTimeLimit({
            clock: this.#options.clock,
            limitMs,
            reason: timedOut,
            end: () => this.#endRunning(running, timedOut),
          });
        },
      });
      return null;
    } catch (error) {
      return error as Error;
    } finally {
      this.#running = null;
      (lift as (() => void) | null)?.();
    }
  }

  #endRunning(running: Running, reason: FatalError): void {
    if (running !== this.#running || !this.#options.restartable) return;
    running.endedBecause ??= reason;
    this.#engine.kill();
  }

  async #startAgain({ endedBecause }: Running, cause: unknown): Promise<void> {
    const { log, restartable, start, onStopped } = this.#options;
    this.#stopped = true;
    if (endedBecause === null) {
      log.error('a statement crashed the embedded database', { error: cause });
    } else {
      log.warn('restarting the embedded database to end a statement', {
        reason: endedBecause.message,
      });
    }
    await this.#engine.kill();
    if (!restartable) return onStopped();
    try {
      this.#engine = await start();
    } catch (error) {
      log.error('the embedded database could not be restarted', { error });
      return onStopped();
    }
    this.#stopped = false;
    this.#forgetStatements();
    this.sessionEpoch++;
    log.warn('the embedded database was restarted');
  }

  /** Puts the new session into a failed transaction, which is the state that the client expects. */
  async #failTransaction(): Promise<void> {
    if (this.#stopped) return;
    const answer = new AnswerReader('', () => undefined);
    await this.#deliver([queryMessage('BEGIN'), queryMessage('SELECT 1 / 0')], answer);
    this.#status = answer.status ?? 'I';
  }

  #forgetStatements(): void {
    this.statementsEpoch++;
    this.unnamedOwner = null;
  }
}

/** Quotes a text as an SQL literal that is independent of `standard_conforming_strings`. */
export function quoteLiteral(text: string): string {
  return `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}

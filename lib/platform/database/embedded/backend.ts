import type { Log } from '../../log.ts';
import type { RunningPostgres } from './start-postgres.ts';
import {
  copyFailMessage,
  errorMessage,
  FatalError,
  queryMessage,
  readError,
  readRow,
} from './wire-messages.ts';
import { AnswerReader, splitMessages } from './wire-readers.ts';

/** Types of message after which the server says that it is ready. */
const SYNC = 0x53;
const QUERY = 0x51;
const FUNCTION_CALL = 0x46;
const FLUSH = 0x48;

/** How PGlite's main loop says that Postgres has handled an error, in place of a jump. */
const ERROR_HANDLED = 100;

/**
 * PGlite reads a COPY's data from the batch it was given and exits the whole database at its end. So
 * every batch carries a CopyFail: it ends such a COPY with an error, and is ignored where none runs.
 */
const copyGuard = copyFailMessage('COPY FROM STDIN must be a simple query of one statement here');

const crashed = { code: '57P02', message: 'the statement crashed the embedded database' };

export interface BackendOptions {
  start: () => Promise<RunningPostgres>;
  /** Does what is committed outlive a crash, so that it can be started again? */
  restartable: boolean;
  /** Called once when the database has stopped for good. */
  onStopped(): void;
  log: Log;
}

export interface BackendOutput {
  /** Types of message that `pass` does not get. */
  withhold: string;
  /** Gets the answer piece by piece, while the statement runs. */
  pass(output: Buffer): void;
}

/**
 * The one Postgres session there is. Whoever calls it holds the turn. Running a batch blocks the event
 * loop until it has ended, so it cannot be cancelled and `statement_timeout` has no effect.
 *
 * A statement can crash the WebAssembly that Postgres runs in, by overflowing its stack. Then the
 * database is started again, as a Postgres server does, and the statement fails with 57P02.
 */
export class EmbeddedBackend {
  /** Whose Parse the session's unnamed statement is. A simple query drops that statement. */
  unnamedOwner: object | null = null;
  /** Changes whenever the prepared statements of all clients were dropped. */
  statementsEpoch = 0;
  /** Changes whenever the session is a new one, with default settings. */
  sessionEpoch = 0;
  readonly #options: BackendOptions;
  #postgres: RunningPostgres;
  #crash: unknown = null;
  #stopped = false;

  private constructor(options: BackendOptions, postgres: RunningPostgres) {
    this.#options = options;
    this.#postgres = postgres;
    this.#watch();
  }

  static async start(options: BackendOptions): Promise<EmbeddedBackend> {
    return new EmbeddedBackend(options, await options.start());
  }

  /**
   * Runs messages that end with Sync, Flush or a simple query, and returns the reader of their answer.
   * Throws FatalError 57P02 when the database has stopped.
   */
  async run(messages: readonly Buffer[], { withhold, pass }: BackendOutput): Promise<AnswerReader> {
    if (this.#stopped) throw new FatalError(crashed.code, 'the embedded database has stopped');
    const last = messages.at(-1)?.[0];
    const guarded =
      last === SYNC || last === FLUSH
        ? [...messages.slice(0, -1), copyGuard, ...messages.slice(-1)]
        : [...messages, copyGuard];
    const answer = new AnswerReader(withhold, pass);
    try {
      await this.#postgres.pglite.execProtocolRawStream(Buffer.concat(guarded), {
        onRawData: (piece) => answer.push(piece),
      });
    } catch (error) {
      this.#crash = error;
    }
    if (last === SYNC && answer.status === null) this.#crash ??= new Error('it is not ready');
    if (this.#crash !== null) {
      await this.#startAgain(this.#crash);
      if (last !== SYNC && last !== QUERY && last !== FUNCTION_CALL) {
        throw new FatalError(crashed.code, crashed.message);
      }
      pass(errorMessage('ERROR', crashed));
      answer.status = 'I';
    }
    if (last === QUERY) this.unnamedOwner = null;
    if (answer.tags.some((tag) => tag === 'DEALLOCATE ALL' || tag === 'DISCARD ALL')) {
      this.#forgetStatements();
    }
    return answer;
  }

  /** Rows of a query of our own, as text. Throws FatalError with the database's code and message. */
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

  /** Shuts Postgres down. */
  async close(): Promise<void> {
    const { pglite, timers } = this.#postgres;
    try {
      if (!this.#stopped) await pglite.close();
    } finally {
      timers.disarm();
    }
  }

  /** PGlite itself goes on after a crash as if nothing had happened, in memory that nobody vouches for. */
  #watch(): void {
    const module = this.#postgres.pglite.Module;
    const step = module._PostgresMainLoopOnce;
    module._PostgresMainLoopOnce = () => {
      try {
        step();
      } catch (error) {
        if ((error as { status?: unknown }).status !== ERROR_HANDLED) this.#crash = error;
        throw error;
      }
    };
  }

  async #startAgain(cause: unknown): Promise<void> {
    const { log, restartable, start, onStopped } = this.#options;
    this.#stopped = true;
    this.#postgres.timers.disarm();
    log.error('a statement crashed the embedded database', { error: cause });
    if (!restartable) return onStopped();
    try {
      await this.#postgres.pglite.fs?.closeFs();
      this.#postgres = await start();
    } catch (error) {
      log.error('the embedded database does not start again', { error });
      return onStopped();
    }
    this.#watch();
    this.#crash = null;
    this.#stopped = false;
    this.#forgetStatements();
    this.sessionEpoch++;
    log.warn('the embedded database was started again');
  }

  #forgetStatements(): void {
    this.statementsEpoch++;
    this.unnamedOwner = null;
  }
}

/** A text as an SQL literal, whatever the settings in force say about backslashes. */
export function quoteLiteral(text: string): string {
  return `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}

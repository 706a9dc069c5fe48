import type { PGlite } from '@electric-sql/pglite';
import { copyFailMessage, FatalError, queryMessage, readError, readRow } from './wire-messages.ts';
import { AnswerReader, splitMessages } from './wire-readers.ts';

/** Types of message after which the server must say that it is ready. */
const SYNC = 0x53;
const QUERY = 0x51;
const FLUSH = 0x48;

/**
 * PGlite reads a COPY's data from the batch it was given and exits the whole database at its end. So
 * every batch carries a CopyFail: it ends such a COPY with an error, and is ignored where none runs.
 */
const copyGuard = copyFailMessage('COPY FROM STDIN must be a simple query of one statement here');

export interface BackendAnswer {
  /** Types of message that `pass` does not get. */
  withhold: string;
  /** Gets the answer piece by piece, while the statement runs. */
  pass(output: Buffer): void;
}

/**
 * The one Postgres session there is. Whoever calls it holds the turn. Running a batch blocks the event
 * loop until it has ended, so it cannot be cancelled and `statement_timeout` has no effect.
 */
export class EmbeddedBackend {
  /** Whose Parse the session's unnamed statement is. A simple query drops that statement. */
  unnamedOwner: object | null = null;
  /** Changes whenever a client dropped the prepared statements of all. */
  statementsEpoch = 0;
  readonly #pglite: PGlite;
  readonly #onBroken: (error: Error) => void;
  #broken: Error | null = null;

  constructor(pglite: PGlite, onBroken: (error: Error) => void) {
    this.#pglite = pglite;
    this.#onBroken = onBroken;
  }

  /**
   * Runs messages that end with Sync, Flush or a simple query, and returns the reader of their answer.
   * Throws FatalError 57P02 when the database itself has stopped.
   */
  async run(messages: readonly Buffer[], { withhold, pass }: BackendAnswer): Promise<AnswerReader> {
    if (this.#broken !== null) throw stopped();
    const last = messages.at(-1)?.[0];
    const guarded =
      last === SYNC || last === FLUSH
        ? [...messages.slice(0, -1), copyGuard, ...messages.slice(-1)]
        : [...messages, copyGuard];
    const answer = new AnswerReader(withhold, pass);
    try {
      await this.#pglite.execProtocolRawStream(Buffer.concat(guarded), {
        onRawData: (piece) => answer.push(piece),
      });
    } catch (error) {
      throw this.#break(error);
    }
    if (last === SYNC && answer.status === null) {
      throw this.#break(new Error('the embedded database did not get ready again'));
    }
    if (last === QUERY) this.unnamedOwner = null;
    if (answer.tags.some((tag) => tag === 'DEALLOCATE ALL' || tag === 'DISCARD ALL')) {
      this.statementsEpoch++;
      this.unnamedOwner = null;
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

  #break(cause: unknown): FatalError {
    this.#broken = new Error('the embedded database stopped', { cause });
    this.#onBroken(this.#broken);
    return stopped();
  }
}

function stopped(): FatalError {
  return new FatalError('57P02', 'the embedded database stopped');
}

/** A text as an SQL literal, whatever the settings in force say about backslashes. */
export function quoteLiteral(text: string): string {
  return `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}

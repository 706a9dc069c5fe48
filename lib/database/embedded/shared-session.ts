import type { Clock } from '../../clock.ts';
import type { Log } from '../../log/log.ts';
import { AnswerReader } from './answer-reader.ts';
import type { Engine } from './engine.ts';
import {
  cstrings,
  FatalError,
  frame,
  queryMessage,
  readError,
  readRow,
  splitMessages,
} from './messages.ts';
import { startTimeLimit } from './time-limit.ts';

/** Message types, as bytes. */
const SYNC = 0x53;
const FLUSH = 0x48;

/**
 * PGlite reads the data of a COPY from the current batch and exits when the batch ends too early. A CopyFail
 * in every batch turns that into an error; outside of a COPY it is ignored.
 */
const copyGuard = frame('f', cstrings('the embedded database does not support COPY FROM STDIN'));

const crashed = new FatalError('57P02', 'the statement crashed the embedded database');
const timedOut = new FatalError('57014', 'canceling statement due to statement timeout');

interface SharedSessionOptions {
  /** Starts the engine again. */
  start(): Promise<Engine>;
  /** Called once when the database has stopped and will not restart. */
  onStopped(): void;
  clock: Clock;
  log: Log;
}

export interface BatchOptions {
  /** Message types to withhold from `pass`. */
  withhold: string;
  /** Receives the answer in chunks while the statement runs. */
  pass(output: Buffer): void;
  /** The client that sent the batch. Without one, no `statement_timeout` applies. */
  owner?: object;
}

/** The running batch, and why it was ended, if it was. */
interface Running {
  owner: object | undefined;
  endedBecause: FatalError | null;
  /** Lifts the limit on the time it may take to end. */
  liftGrace(): void;
}

/** How long a batch may take to end before the engine is killed. */
const INTERRUPT_GRACE_MS = 5_000;

/**
 * The only Postgres session. Callers must hold the lease.
 *
 * A statement that is canceled or takes too long ends with its connection. If it does not react to that in time, or
 * overflows the stack of WebAssembly, the engine is killed and restarted, like a Postgres server after a crash:
 * committed data is kept.
 */
export class SharedSession {
  /** The names of the prepared statements. */
  readonly prepared = new Set<string>();
  /** The applied settings that differ from the defaults; null when unknown. */
  settings: ReadonlyMap<string, string> | null = new Map();
  readonly #options: SharedSessionOptions;
  #engine: Engine;
  #running: Running | null = null;
  #stopped = false;

  constructor(engine: Engine, options: SharedSessionOptions) {
    this.#engine = engine;
    this.#options = options;
  }

  /**
   * Runs messages that end with Sync, Flush or a simple query, and returns what was read of the answer.
   * Throws FatalError when the client's connection must end.
   */
  async run(messages: readonly Buffer[], batch: BatchOptions): Promise<AnswerReader> {
    if (this.#stopped) throw new FatalError(crashed.code, 'the embedded database has stopped');
    const last = messages.at(-1)?.[0];
    const guarded =
      last === SYNC || last === FLUSH
        ? [...messages.slice(0, -1), copyGuard, ...messages.slice(-1)]
        : [...messages, copyGuard];
    const running: Running = {
      owner: batch.owner,
      endedBecause: null,
      liftGrace: () => undefined,
    };
    // The client of a batch that was ended gets the reason, not what Postgres says about it.
    const answer = new AnswerReader(batch.withhold, (output) => {
      if (running.endedBecause === null) batch.pass(output);
    });
    let liftLimit: () => void = () => undefined;
    let failure: unknown = null;
    this.#running = running;
    try {
      await this.#engine.run(guarded, {
        onOutput: (output) => answer.push(output),
        onLimit: (limitMs) => {
          if (running.owner === undefined) return;
          const end = () => this.end(timedOut, running.owner);
          liftLimit = startTimeLimit({ clock: this.#options.clock, limitMs, end });
        },
      });
    } catch (error) {
      failure = error;
    }
    this.#running = null;
    liftLimit();
    running.liftGrace();
    if (failure !== null || (last === SYNC && answer.status === null)) {
      await this.#restart(running.endedBecause, failure);
      throw running.endedBecause ?? crashed;
    }
    if (running.endedBecause !== null) throw running.endedBecause;
    if (answer.tags.includes('DEALLOCATE ALL')) this.prepared.clear();
    return answer;
  }

  /** Runs an internal query and returns its rows as text. Throws FatalError with the database's error. */
  async ask(sql: string): Promise<(string | null)[][]> {
    const output: Buffer[] = [];
    await this.run([queryMessage(sql)], { withhold: '', pass: (piece) => output.push(piece) });
    const messages = splitMessages(Buffer.concat(output));
    const failure = messages.find(({ type }) => type === 'E');
    if (failure !== undefined) throw readError(failure.body);
    return messages.filter(({ type }) => type === 'D').map(({ body }) => readRow(body));
  }

  /** Ends the running batch with this reason, if it belongs to `owner`. */
  end(reason: FatalError, owner: object | undefined): void {
    const running = this.#running;
    if (running === null || running.owner !== owner || running.endedBecause !== null) return;
    running.endedBecause = reason;
    this.#engine.interrupt();
    running.liftGrace = startTimeLimit({
      clock: this.#options.clock,
      limitMs: INTERRUPT_GRACE_MS,
      end: () => this.#engine.kill(),
    });
  }

  /** Lets this time of the running batch pass at once, if it belongs to `owner`. */
  hasten(ms: number, owner: object): void {
    if (this.#running?.owner === owner) this.#engine.hasten(ms);
  }

  /** Ends whatever runs with this reason, at once. The engine restarts if something did. */
  kill(reason: FatalError): void {
    if (this.#running === null) return;
    this.#running.endedBecause ??= reason;
    this.#engine.kill();
  }

  async close(): Promise<void> {
    if (!this.#stopped) await this.#engine.close();
  }

  async #restart(endedBecause: FatalError | null, cause: unknown): Promise<void> {
    const { log, start, onStopped } = this.#options;
    this.#stopped = true;
    if (endedBecause === null) {
      log.error('a statement crashed the embedded database', { error: cause });
    } else {
      const reason = endedBecause.message;
      log.warn('restarting the embedded database to end a statement', { reason });
    }
    await this.#engine.kill();
    try {
      this.#engine = await start();
    } catch (error) {
      log.error('the embedded database could not be restarted', { error });
      return onStopped();
    }
    this.#stopped = false;
    this.prepared.clear();
    this.settings = new Map();
    log.warn('the embedded database was restarted');
  }
}

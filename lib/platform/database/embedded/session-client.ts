import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { EmbeddedBackend } from './backend.ts';
import type { SessionLeftovers } from './session-leftovers.ts';
import { startTimeLimit } from './time-limit.ts';
import type { Turn, TurnQueue } from './turn-queue.ts';
import {
  FatalError,
  parameterMessage,
  queryMessage,
  readyMessage,
  syncMessage,
} from './wire-messages.ts';
import type { TransactionStatus } from './wire-readers.ts';
import { ClientSettings, type SharedSettings } from './wire-settings.ts';
import { ClientStatements } from './wire-statements.ts';

/** What all clients of one embedded database share: the one Postgres session, and the way to it. */
export interface SharedSession {
  backend: EmbeddedBackend;
  settings: SharedSettings;
  leftovers: SessionLeftovers;
  turns: TurnQueue;
  log: Log;
  clock: Clock;
}

/** Where a batch's answer goes, and what ends the wait for a turn and the client. */
export interface BatchOutlet {
  write(output: Buffer): void;
  /** Ends the client with this reason once its running statement has ended. */
  abort(reason: Error): void;
  readonly signal: AbortSignal;
}

/** How long a client may keep its turn while others wait, in milliseconds. */
const TURN_LIMIT_MS = 5 * 60_000;

const silent = { withhold: '', pass: () => undefined };

/**
 * One client's part in the one Postgres session: its turn, its settings, its prepared statements.
 *
 * A client keeps its turn until its transaction is over. The client in this process is different: its
 * owner holds a turn around each statement, and nothing that it sets lasts.
 */
export class SessionClient {
  readonly statements: ClientStatements;
  readonly #shared: SharedSession;
  readonly #inProcess: boolean;
  #settings = new ClientSettings(new Map());
  #turn: Turn | null = null;
  #liftLimit: (() => void) | null = null;

  constructor(shared: SharedSession, id: number, inProcess: boolean) {
    this.#shared = shared;
    this.#inProcess = inProcess;
    this.statements = new ClientStatements(`c${id}_`, shared.backend);
  }

  /** Is the client in a transaction, or in the middle of a batch? */
  get holdsTurn(): boolean {
    return this.#turn !== null;
  }

  /** Sets what the client asked for when it connected. It comes into force with its first turn. */
  begin(settings: ReadonlyMap<string, string>): void {
    // The driver of the client in this process puts the environment's settings into its startup.
    if (!this.#inProcess) this.#settings = new ClientSettings(settings);
  }

  /** Looks at an SQL text that is about to run. */
  noteText(sql: string): void {
    this.#settings.noteText(sql);
    this.#shared.leftovers.noteText(this, sql);
  }

  /**
   * Runs messages that end with Sync, Flush or a simple query, in a turn, and writes the answer but for
   * the types of message in `withhold`. Throws the signal's reason, or FatalError.
   */
  async run(batch: readonly Buffer[], withhold: string, outlet: BatchOutlet): Promise<void> {
    const { backend, settings } = this.#shared;
    if (this.#inProcess) await settings.enter(this.#settings);
    else if (this.#turn === null) {
      this.#turn = await this.#shared.turns.acquire(outlet.signal);
      this.#limitTurn(outlet);
      await settings.enter(this.#settings);
    }
    const pass = (output: Buffer) => outlet.write(output);
    const missing = this.statements.takeMissing();
    if (missing.length > 0) await backend.run(missing, { withhold: '1ZA', pass });
    // ReadyForQuery waits until the turn has ended. A NOTIFY's receiver cannot be told: it is dropped.
    const answer = await backend.run(batch, { withhold: `${withhold}ZA`, pass });
    this.statements.noteAnswer(answer);
    this.#settings.noteTags(answer.tags);
    if (answer.status === null) return;
    outlet.write(readyMessage(await this.#settle(answer.status, outlet)));
  }

  /** Rolls back, and leaves nothing of the client's in the shared session. */
  async leave(): Promise<void> {
    const { backend, leftovers, settings, turns } = this.#shared;
    try {
      if (this.#turn !== null) {
        await this.#rollBack();
        if (this.#settings.mayHaveChanged) settings.forget();
      }
      const closes = this.statements.closeAll();
      const cleanUp = leftovers.leave(this);
      if (turns.closed || (closes.length === 0 && cleanUp.length === 0)) return;
      this.#turn ??= await turns.acquire();
      await backend.run([...closes, syncMessage], silent);
      for (const sql of cleanUp) await backend.ask(sql);
    } finally {
      this.#endTurn();
    }
  }

  /** Ends the turn when the transaction is over, and returns the state that the client is in. */
  async #settle(status: TransactionStatus, outlet: BatchOutlet): Promise<TransactionStatus> {
    const { settings, log } = this.#shared;
    if (this.#inProcess) {
      if (this.#settings.mayHaveChanged) settings.forget();
      this.#settings.mayHaveChanged = false;
      if (status === 'I') return status;
      log.warn('a statement left a transaction open, which was rolled back');
      await this.#rollBack();
      return 'I';
    }
    if (status !== 'I') return status;
    if (this.#settings.mayHaveChanged) {
      this.#settings.mayHaveChanged = false;
      for (const [name, value] of await settings.save(this.#settings)) {
        outlet.write(parameterMessage(name, value));
      }
    }
    this.#endTurn();
    return status;
  }

  /** After this there is no transaction, and no error that waits for a Sync. */
  async #rollBack(): Promise<void> {
    const rollback = queryMessage('ROLLBACK');
    await this.#shared.backend.run([rollback, syncMessage, rollback, syncMessage], silent);
  }

  #limitTurn(outlet: BatchOutlet): void {
    this.#liftLimit = startTimeLimit({
      clock: this.#shared.clock,
      limitMs: TURN_LIMIT_MS,
      reason: new FatalError('25P04', 'the transaction took too long while others wait'),
      end: (reason) => outlet.abort(reason),
      condition: (signal) => this.#shared.turns.whenWanted(signal),
    });
  }

  #endTurn(): void {
    this.#liftLimit?.();
    this.#liftLimit = null;
    this.#turn?.release();
    this.#turn = null;
  }
}

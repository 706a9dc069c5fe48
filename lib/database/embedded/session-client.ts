import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { EmbeddedBackend } from './backend.ts';
import type { Lease, LeaseQueue } from './lease-queue.ts';
import type { SessionLeftovers } from './session-leftovers.ts';
import { startTimeLimit } from './time-limit.ts';
import {
  completeMessage,
  errorMessage,
  FatalError,
  isAnswered,
  parameterMessage,
  queryMessage,
  readyMessage,
  syncMessage,
} from './wire-messages.ts';
import { AnswerReader, type TransactionStatus } from './wire-readers.ts';
import { ClientSettings, type SharedSettings } from './wire-settings.ts';
import { ClientStatements } from './wire-statements.ts';
import { ClientGone } from './wire-stream.ts';

/** Shared by all clients of an embedded database: the one Postgres session and the queue for it. */
export interface SharedSession {
  backend: EmbeddedBackend;
  settings: SharedSettings;
  leftovers: SessionLeftovers;
  leases: LeaseQueue;
  log: Log;
  clock: Clock;
}

/** Receives a batch's answer, and signals when its client is gone. */
export interface BatchOutlet {
  write(output: Buffer): void;
  /** Disconnects the client once its running statement has ended. */
  abort(reason: Error): void;
  readonly signal: AbortSignal;
}

/** Replaces this many withheld command tags by one. */
export interface OneTag {
  tags: number;
  tag: string;
}

/** How long a disconnected client's statement may run while others wait. */
const DISCONNECTED_TIMEOUT_MS = 30_000;

/** How long a client may keep its lease while others wait. */
const LEASE_TIMEOUT_MS = 5 * 60_000;

const silent = { withhold: '', pass: () => undefined };
const canceled = new FatalError('57014', 'canceling statement due to user request');

/**
 * One client of the shared Postgres session: its lease, settings and prepared statements. A client keeps
 * its lease until its transaction ends.
 */
export class SessionClient {
  readonly statements: ClientStatements;
  readonly #shared: SharedSession;
  #settings = new ClientSettings(new Map());
  #lease: Lease | null = null;
  #liftLimit: (() => void) | null = null;
  #waiting: AbortController | null = null;

  constructor(shared: SharedSession, id: number) {
    this.#shared = shared;
    this.statements = new ClientStatements(`c${id}_`, shared.backend);
  }

  /** Is the client in a transaction or in the middle of a batch? */
  get holdsLease(): boolean {
    return this.#lease !== null;
  }

  /** Stores the settings from the client's startup packet, to apply with its first lease. */
  begin(settings: ReadonlyMap<string, string>): void {
    this.#settings = new ClientSettings(settings);
  }

  /** Inspects an SQL text before it runs. */
  noteText(sql: string): void {
    this.#settings.noteText(sql);
    this.#shared.leftovers.noteText(this, sql);
  }

  /**
   * Acquires a lease, runs messages that end with Sync, Flush or a simple query, and writes the answer
   * without the message types in `withhold`. Throws the signal's reason, or FatalError.
   */
  async run(
    batch: readonly Buffer[],
    { withhold, instead }: { withhold: string; instead?: OneTag | undefined },
    outlet: BatchOutlet,
  ): Promise<void> {
    const { backend, settings } = this.#shared;
    if (this.#lease === null) {
      if (!(await this.#acquireLease(outlet))) return this.#refuse(batch, outlet);
      await settings.enter(this.#settings);
    }
    const pass = (output: Buffer) => outlet.write(output);
    const missing = this.statements.takeMissing();
    if (missing.length > 0) await backend.run(missing, { withhold: '1ZA', pass });
    // ReadyForQuery is sent when the lease has ended. Notifications are dropped: their receiver is unknown.
    const lift = this.#limitWhenDisconnected(outlet);
    const answer = await backend
      .run(batch, { withhold: `${withhold}ZA`, pass, owner: this })
      .finally(lift);
    this.statements.noteAnswer(answer);
    this.#settings.noteTags(answer.tags);
    if (answer.tags.length === instead?.tags) outlet.write(completeMessage(instead.tag));
    if (answer.status !== null) {
      outlet.write(readyMessage(await this.#settle(answer.status, outlet)));
    }
    // Starts after the first batch: most leases end with it, and a running batch has limits of its own.
    if (this.#lease !== null && this.#liftLimit === null) this.#limitLease(outlet);
  }

  /** Cancels the client's running or waiting statement with 57014. */
  cancel(): void {
    this.#waiting?.abort(canceled);
    this.#shared.backend.end(canceled, this);
  }

  /** Rolls back and removes everything of the client from the shared session. */
  async leave(): Promise<void> {
    const { backend, leftovers, settings, leases } = this.#shared;
    try {
      if (this.#lease !== null) {
        await this.#rollBack();
        if (this.#settings.mayHaveChanged) settings.forget();
      }
      const closes = this.statements.closeAll();
      const cleanUp = leftovers.leave(this);
      if (leases.closed || (closes.length === 0 && cleanUp.length === 0)) return;
      this.#lease ??= await leases.acquire();
      await backend.run([...closes, syncMessage], silent);
      for (const sql of cleanUp) await backend.ask(sql);
    } finally {
      this.#releaseLease();
    }
  }

  /** Releases the lease when the transaction is over. Returns the transaction status. */
  async #settle(status: TransactionStatus, outlet: BatchOutlet): Promise<TransactionStatus> {
    const { settings } = this.#shared;
    if (status !== 'I') return status;
    if (this.#settings.mayHaveChanged) {
      this.#settings.mayHaveChanged = false;
      for (const [name, value] of await settings.save(this.#settings)) {
        outlet.write(parameterMessage(name, value));
      }
    }
    this.#releaseLease();
    return status;
  }

  /** Waits for a lease. Returns false when the statement was canceled first. */
  async #acquireLease(outlet: BatchOutlet): Promise<boolean> {
    outlet.signal.throwIfAborted();
    const { leases } = this.#shared;
    if (!leases.held) {
      this.#lease = await leases.acquire();
      return true;
    }
    const waiting = new AbortController();
    this.#waiting = waiting;
    const leave = () => waiting.abort(outlet.signal.reason);
    outlet.signal.addEventListener('abort', leave);
    try {
      this.#lease = await leases.acquire(waiting.signal);
      return true;
    } catch (error) {
      if (error === canceled) return false;
      throw error;
    } finally {
      this.#waiting = null;
      outlet.signal.removeEventListener('abort', leave);
    }
  }

  /** Answers a batch that was canceled before it ran. */
  #refuse(batch: readonly Buffer[], outlet: BatchOutlet): void {
    if (!isAnswered(batch)) throw canceled;
    this.statements.takeMissing();
    this.statements.noteAnswer(new AnswerReader('', () => undefined));
    outlet.write(errorMessage('ERROR', canceled));
    outlet.write(readyMessage('I'));
  }

  /** Ends any transaction, and any error state that waits for a Sync. */
  async #rollBack(): Promise<void> {
    const rollback = queryMessage('ROLLBACK');
    await this.#shared.backend.run([rollback, syncMessage, rollback, syncMessage], silent);
  }

  /** Ends the running batch when its client disconnects while others wait. Returns a function to lift this. */
  #limitWhenDisconnected({ signal }: BatchOutlet): () => void {
    let lift: (() => void) | null = null;
    const limit = () => {
      if (!(signal.reason instanceof ClientGone)) return;
      lift = startTimeLimit({
        clock: this.#shared.clock,
        limitMs: DISCONNECTED_TIMEOUT_MS,
        reason: canceled,
        end: () => this.#shared.backend.end(canceled, this),
        condition: (lifted) => this.#shared.leases.whenWanted(lifted),
      });
    };
    signal.addEventListener('abort', limit);
    return () => {
      signal.removeEventListener('abort', limit);
      lift?.();
    };
  }

  #limitLease(outlet: BatchOutlet): void {
    this.#liftLimit = startTimeLimit({
      clock: this.#shared.clock,
      limitMs: LEASE_TIMEOUT_MS,
      reason: new FatalError('25P04', 'the transaction took too long while others wait'),
      end: (reason) => outlet.abort(reason),
      condition: (signal) => this.#shared.leases.whenWanted(signal),
    });
  }

  #releaseLease(): void {
    this.#liftLimit?.();
    this.#liftLimit = null;
    this.#lease?.release();
    this.#lease = null;
  }
}

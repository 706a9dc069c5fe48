import type { EventEmitter } from 'node:events';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log/log.ts';
import type { ClientSettings } from './client-settings.ts';
import { ClientStatements } from './client-statements.ts';
import type { LeaseQueue, Release } from './lease-queue.ts';
import type { MessageStream } from './message-stream.ts';
import {
  FatalError,
  parameterMessage,
  queryMessage,
  readyMessage,
  syncMessage,
} from './messages.ts';
import type { SharedSession } from './shared-session.ts';
import { startTimeLimit } from './time-limit.ts';

/** Shared by all clients of an embedded database: the one Postgres session and the queue for it. */
export interface Shared {
  session: SharedSession;
  leases: LeaseQueue;
  /** The settings reported to a new client. */
  defaults: ReadonlyMap<string, string>;
  /** The clients that may have created temporary tables or run PREPARE. */
  creators: Set<object>;
  /** Emits the id of a client when its statement begins to run. */
  starts: EventEmitter;
  log: Log;
  clock: Clock;
}

/** How long the statement of a disconnected client may run while others wait. */
const DISCONNECTED_TIMEOUT_MS = 30_000;

/**
 * Drops what Postgres cannot tell apart by client: PREPARE statements and temporary tables. Prepared statements
 * of other clients are parsed again on their next use.
 */
const dropSharedObjects = 'DEALLOCATE ALL; DISCARD TEMP';

const silent = { withhold: '', pass: () => undefined };
const canceled = new FatalError('57014', 'canceling statement due to user request');

/**
 * One client of the shared Postgres session: its lease, settings and prepared statements. A client keeps
 * its lease until its transaction ends.
 */
export class ClientSession {
  readonly statements: ClientStatements;
  readonly #shared: Shared;
  readonly #settings: ClientSettings;
  readonly #stream: MessageStream;
  readonly #id: number;
  #release: Release | null = null;
  #isRunning = false;

  constructor(shared: Shared, stream: MessageStream, id: number, settings: ClientSettings) {
    this.#shared = shared;
    this.#settings = settings;
    this.#stream = stream;
    this.#id = id;
    this.statements = new ClientStatements(`c${id}_`, shared.session);
  }

  /** Whether the client is in a transaction or in the middle of a batch. */
  get holdsLease(): boolean {
    return this.#release !== null;
  }

  /** Inspects an SQL text before it runs. */
  noteText(sql: string): void {
    this.#settings.noteText(sql);
    if (/\b(temp|temporary|prepare)\b/i.test(sql)) this.#shared.creators.add(this);
  }

  /**
   * Acquires a lease, runs messages that end with Sync, Flush or a simple query, and writes the answer.
   * Throws the reason if the client's connection must end.
   */
  async run(batch: readonly Buffer[]): Promise<void> {
    const { clock, leases, session, starts } = this.#shared;
    const { signal } = this.#stream;
    this.#isRunning = true;
    if (this.#release === null) {
      this.#release = await leases.acquire(signal);
      await this.#settings.enter();
      signal.throwIfAborted();
    }
    starts.emit(String(this.#id));
    const pass = (output: Buffer) => this.#stream.write(output);
    const missing = this.statements.beginBatch();
    if (missing.length > 0) await session.run(missing, { withhold: '1ZA', pass });
    const lift = startTimeLimit({
      clock,
      limitMs: DISCONNECTED_TIMEOUT_MS,
      end: () => session.end(canceled, this),
      condition: () => signal.aborted && leases.waiting > 0,
    });
    // Notifications (A) are dropped: their receiver is unknown.
    const answer = await session.run(batch, { withhold: 'ZA', pass, owner: this }).finally(lift);
    this.#isRunning = false;
    this.#settings.noteTags(answer.tags);
    if (answer.status === 'I') {
      for (const change of await this.#settings.save()) pass(parameterMessage(...change));
      this.#endLease();
    }
    // Sent only after the lease has ended, so that the client's next request finds it free.
    if (answer.status !== null) pass(readyMessage(answer.status));
  }

  /** Cancels the client's running or waiting statement with 57014, and ends its connection. */
  cancel(): void {
    if (!this.#isRunning) return;
    this.#stream.abort(canceled);
    this.#shared.session.end(canceled, this);
  }

  /** Lets this time of the client's running statement pass at once. */
  hasten(ms: number): void {
    this.#shared.session.hasten(ms, this);
  }

  /** Rolls back and removes everything of the client from the shared session. */
  async leave(): Promise<void> {
    const { session, leases, creators } = this.#shared;
    try {
      if (this.#release !== null) {
        await this.#rollBack();
        session.settings = null;
      }
      const closes = this.statements.closeAll();
      const mustDrop = creators.delete(this) && creators.size === 0;
      if (leases.closed || (closes.length === 0 && !mustDrop)) return;
      this.#release ??= await leases.acquire();
      await session.run([...closes, syncMessage], silent);
      if (mustDrop) await session.ask(dropSharedObjects);
    } finally {
      this.#endLease();
    }
  }

  /** Ends any transaction, and any error state that waits for a Sync. */
  async #rollBack(): Promise<void> {
    const rollback = queryMessage('ROLLBACK');
    await this.#shared.session.run([rollback, syncMessage, rollback, syncMessage], silent);
  }

  #endLease(): void {
    this.#release?.();
    this.#release = null;
  }
}

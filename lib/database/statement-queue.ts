import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Caller } from '../caller.ts';
import { AppError } from '../errors.ts';
import { databaseUnavailable } from './database.ts';

/** How many statements of one caller may wait. A page with everything open sends about ten. */
export const MAX_WAITING_PER_CALLER = 20;
const RETRY_AFTER_SECONDS = '2';
/** By how much a caller can be behind the others, so that it is not left waiting after one slow statement. */
const MAX_DEBT_MS = 1_000;
/** Turns of the event loop. */
const TURNS_TO_ASK_AGAIN = 4;

export interface StatementQueueOptions {
  /** How many statements may run at a time. */
  slots: number;
  /** Milliseconds that a statement may wait. */
  maxWaitMs: number;
  /** Time in milliseconds. Default: the process's. */
  now?: () => number;
}

interface Waiter {
  start(): void;
  refuse(reason: unknown): void;
}

interface Line {
  /** The time that the caller has used, counted from `#usedByAll`. */
  used: number;
  running: number;
  waiters: Set<Waiter>;
}

/**
 * Grants the database to statements: next is always one of the caller whose statements took the least time (start-time
 * fair queuing), so one caller's many or slow statements delay another's by no more than the one that is running.
 */
export class StatementQueue {
  readonly #options: Required<StatementQueueOptions>;
  readonly #lines = new Map<string, Line>();
  #free: number;
  #waiting = 0;
  /** What the least served caller had used when a statement was last granted. */
  #usedByAll = 0;

  constructor(options: StatementQueueOptions) {
    this.#options = { now: () => performance.now(), ...options };
    this.#free = options.slots;
  }

  /** The number of waiting statements. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Runs work once it may use the database. Throws RATE_LIMITED if too many statements of the caller wait already,
   * BAD_REQUEST if the caller no longer wants it, and SERVICE_UNAVAILABLE if it has waited too long.
   */
  async run<Result>(caller: Caller | null, work: () => Promise<Result>): Promise<Result> {
    const key = caller?.key ?? '';
    const line = this.#lineOf(key);
    if (this.#free > 0) this.#free--;
    else await this.#wait(line, caller);
    // A caller that was idle has not saved up time.
    line.used = Math.max(line.used, this.#usedByAll);
    this.#usedByAll = line.used;
    line.running++;
    if (caller?.phase === 'changing') caller.phase = 'changed';
    const startedAt = this.#options.now();
    try {
      return await work();
    } finally {
      line.running--;
      const used = line.used + this.#options.now() - startedAt;
      line.used = Math.min(used, this.#usedByAll + MAX_DEBT_MS);
      this.#passOn();
    }
  }

  /** Refuses everything that waits. */
  refuseWaiting(reason: unknown): void {
    for (const { waiters } of this.#lines.values()) {
      for (const waiter of waiters) waiter.refuse(reason);
    }
  }

  #lineOf(key: string): Line {
    const line = this.#lines.get(key) ?? { used: 0, running: 0, waiters: new Set() };
    this.#lines.set(key, line);
    return line;
  }

  async #wait(line: Line, caller: Caller | null): Promise<void> {
    const isLimited = caller?.isLimited && caller.phase !== 'changed';
    if (isLimited && line.waiters.size >= MAX_WAITING_PER_CALLER) throw tooMany();
    const signal = caller?.signal?.();
    if (signal?.aborted) throw gone();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { start: resolve, refuse: reject };
    const abort = () => reject(gone());
    const timer = setTimeout(
      () => reject(databaseUnavailable(new Error('the statement waited too long for its turn'))),
      this.#options.maxWaitMs,
    );
    signal?.addEventListener('abort', abort);
    line.waiters.add(waiter);
    this.#waiting++;
    try {
      await promise;
    } catch (error) {
      this.#leave(line, waiter);
      throw error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }

  #leave(line: Line, waiter: Waiter): void {
    if (line.waiters.delete(waiter)) this.#waiting--;
  }

  #passOn(): void {
    if (this.#waiting === 0) this.#release();
    else void this.#startLater();
  }

  /**
   * Whoever has just been served may ask again before another takes the turn: a request looks up its user first, and
   * then reads its body. This also keeps a long queue from starving sockets and timers.
   */
  async #startLater(): Promise<void> {
    for (let turn = 0; turn < TURNS_TO_ASK_AGAIN; turn++) await yieldToEventLoop();
    this.#startNext();
  }

  #startNext(): void {
    let next: Line | null = null;
    for (const [key, line] of this.#lines) {
      if (line.waiters.size > 0) {
        if (next === null || line.used < next.used) next = line;
      } else if (line.running === 0 && line.used <= this.#usedByAll) this.#lines.delete(key);
    }
    const [waiter] = next?.waiters ?? [];
    if (next === null || waiter === undefined) {
      this.#release();
      return;
    }
    this.#leave(next, waiter);
    waiter.start();
  }

  #release(): void {
    this.#free++;
    if (this.#free < this.#options.slots) return;
    this.#lines.clear();
    this.#usedByAll = 0;
  }
}

function tooMany(): AppError {
  return new AppError(
    'RATE_LIMITED',
    'too many of your requests wait for the database: let some of them finish first',
    { headers: { 'Retry-After': RETRY_AFTER_SECONDS } },
  );
}

/** Not a server error, because the client disconnected. Nobody reads this answer. */
function gone(): AppError {
  return new AppError('BAD_REQUEST', 'the client disconnected');
}

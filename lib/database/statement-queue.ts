import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Caller } from '../caller.ts';
import { AppError } from '../errors.ts';
import {
  DEFAULT_QUERY_TIMEOUT_MS,
  databaseUnavailable,
  isDatabaseUnavailable,
} from './database.ts';
import { translateDatabaseError } from './database-errors.ts';

/** How many statements of one caller may wait. A page with everything open sends about ten. */
export const MAX_WAITING_PER_CALLER = 20;
const RETRY_AFTER_SECONDS = '2';
/** By how much a caller can be behind the others, so that it is not left waiting after one slow statement. */
const MAX_DEBT_MS = 1_000;
/** Turns of the event loop. */
const TURNS_TO_ASK_AGAIN = 4;
/** How long the statements of a caller that can give way may hold up others, together. */
const GIVES_WAY_AFTER_MS = 250;
/** What each of them gets, however many they are: enough for a usual search. */
const MIN_RUN_MS = 25;
const LOOK_EVERY_MS = 10;

export interface StatementQueueOptions {
  /** How many statements may run at a time. */
  slots: number;
  /** Milliseconds that a statement may wait. */
  maxWaitMs: number;
  /**
   * Milliseconds without an answer to any statement after which the database is taken to hang. Waiting then counts as
   * time of the statement, whose own limit is used if it is longer.
   */
  hangsAfterMs: number;
  /** Time in milliseconds. Default: the process's. */
  now?: () => number;
}

interface Waiter {
  start(): void;
  refuse(reason: unknown): void;
}

/** What a statement needs of the queue. */
export interface StatementNeeds {
  caller: Caller | null;
  timeoutMs: number;
  /** Makes the running statement end early. It is called again until the statement has ended. Null if it cannot. */
  giveWay: (() => void) | null;
}

interface Line {
  /** The time that the caller has used, counted from `#usedByAll`. */
  used: number;
  running: number;
  waiters: Set<Waiter>;
  /** Whether it is a user's or client's, not the process's own. */
  isCaller: boolean;
}

/**
 * Grants the database to statements: next is always one of the caller whose statements took the least time (start-time
 * fair queuing), so one caller's many or slow statements delay another's by no more than the one that is running. If that
 * one can, it gives way.
 */
export class StatementQueue {
  readonly #options: Required<StatementQueueOptions>;
  readonly #lines = new Map<string, Line>();
  #free: number;
  #waiting = 0;
  /** What the least served caller had used when a statement was last granted. */
  #usedByAll = 0;
  /** When the database last answered a statement. */
  #answeredAt: number;
  /** How many running statements may take longer than usual: no answer meanwhile is no sign of hanging. */
  #long = 0;

  constructor(options: StatementQueueOptions) {
    this.#options = { now: () => performance.now(), ...options };
    this.#free = options.slots;
    this.#answeredAt = this.#options.now();
  }

  /** The number of waiting statements. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Runs work once it may use the database, with the milliseconds that are left to it. Throws RATE_LIMITED if too many
   * statements of the caller wait already, BAD_REQUEST if the caller no longer wants it, and SERVICE_UNAVAILABLE if it
   * has waited too long.
   */
  async run<Result>(
    { caller, timeoutMs, giveWay }: StatementNeeds,
    work: (leftMs: number) => Promise<Result>,
  ): Promise<Result> {
    const line = this.#lineOf(caller);
    let leftMs = timeoutMs;
    if (this.#free > 0) this.#free--;
    else leftMs = Math.min(leftMs, await this.#wait(line, caller, timeoutMs));
    // A caller that was idle has not saved up time.
    line.used = Math.max(line.used, this.#usedByAll);
    this.#usedByAll = line.used;
    line.running++;
    const isLong = timeoutMs > DEFAULT_QUERY_TIMEOUT_MS;
    if (isLong) this.#long++;
    if (caller?.phase === 'changing') caller.phase = 'changed';
    const startedAt = this.#options.now();
    const stopWatching = giveWay === null ? null : this.#giveWayToOthers(line, giveWay);
    try {
      const result = await work(leftMs);
      this.#answeredAt = this.#options.now();
      return result;
    } catch (error) {
      const translated = translateDatabaseError(error);
      // The database answered this, too.
      if (!isDatabaseUnavailable(translated)) this.#answeredAt = this.#options.now();
      throw translated;
    } finally {
      stopWatching?.();
      line.running--;
      if (isLong) this.#long--;
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

  #lineOf(caller: Caller | null): Line {
    const key = caller?.key ?? '';
    const line = this.#lines.get(key) ?? {
      ...{ used: 0, running: 0, waiters: new Set() },
      isCaller: caller !== null,
    };
    this.#lines.set(key, line);
    return line;
  }

  /** Ends a statement that has just begun when its time is up, if another caller waits then or later. */
  #giveWayToOthers(line: Line, giveWay: () => void): () => void {
    const startedAt = this.#options.now();
    const look = () => {
      const share = GIVES_WAY_AFTER_MS / (line.running + line.waiters.size);
      const leftMs = startedAt + Math.max(share, MIN_RUN_MS) - this.#options.now();
      if (leftMs <= 0 && this.#othersWait(line)) giveWay();
      timer = setTimeout(look, leftMs > 0 ? leftMs : LOOK_EVERY_MS);
    };
    let timer = setTimeout(look, MIN_RUN_MS);
    return () => clearTimeout(timer);
  }

  #othersWait(line: Line): boolean {
    if (this.#waiting === line.waiters.size) return false;
    for (const other of this.#lines.values()) {
      if (other !== line && other.isCaller && other.waiters.size > 0) return true;
    }
    return false;
  }

  /** Returns the milliseconds that are left until the database is taken to hang. */
  async #wait(line: Line, caller: Caller | null, timeoutMs: number): Promise<number> {
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
    const enteredAt = this.#options.now();
    const patienceMs = Math.max(timeoutMs, this.#options.hangsAfterMs);
    const leftMs = () =>
      this.#long > 0
        ? patienceMs
        : Math.max(enteredAt, this.#answeredAt) + patienceMs - this.#options.now();
    let watch: NodeJS.Timeout | undefined;
    const refuseIfHanging = () => {
      const left = leftMs();
      if (left > 0) watch = setTimeout(refuseIfHanging, Math.min(left, this.#options.maxWaitMs));
      else reject(databaseUnavailable(new Error('the database answers no statement')));
    };
    refuseIfHanging();
    signal?.addEventListener('abort', abort);
    line.waiters.add(waiter);
    this.#waiting++;
    try {
      await promise;
      return leftMs();
    } catch (error) {
      this.#leave(line, waiter);
      throw error;
    } finally {
      clearTimeout(timer);
      clearTimeout(watch);
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

import type { Clock } from '../clock.ts';
import type { Database } from '../database/database.ts';
import { AppError } from '../errors.ts';
import type { Log } from '../log.ts';
import { warnOccasionally } from '../occasional-log.ts';
import { replayLogs } from '../records/live-logs.ts';
import { FeedPosition, type JoinPoint } from './feed-position.ts';
import { LogBatch } from './log-batch.ts';

/** Time between two polls, and that after a minute without rows. */
const POLL_MS = 2_000;
const IDLE_POLL_MS = 15_000;
const IDLE_AFTER_MS = 60_000;
/** A database that is away is asked this often, so that rows come soon when it is back. */
const LONGEST_RETRY_MS = 4_000;

/** Is handed each batch of new rows. Must not wait. */
export type Receive = (batch: LogBatch) => void;

export interface SubscribeOptions {
  /** The last id that the client has; null sends nothing but new rows. */
  after: bigint | null;
  /** Ends the subscription, also while it is being made. */
  signal: AbortSignal;
}

/** New rows of execution_logs, from one poller for all subscribers of the process. */
export interface LogFeed {
  /**
   * Hands every row that is committed after the call to `receive`, and resolves with the rows that a
   * resuming client has missed: each row is in one of both, once. Throws SERVICE_UNAVAILABLE when the
   * database does not answer, BAD_REQUEST when the signal aborts first.
   */
  subscribe(receive: Receive, options: SubscribeOptions): Promise<LogBatch>;
  /** Polls no more and refuses new subscribers. */
  close(): void;
}

export interface FeedDeps {
  db: Database;
  clock: Clock;
  log: Log;
}

interface Joiner {
  receive: Receive;
  after: bigint | null;
  /** Null when it was let in, was refused or has left: a client stays long, and what it waited for not. */
  waiting: { join(point: JoinPoint): void; refuse(error: unknown): void } | null;
}

/** Polls only while there is a subscriber. */
export function createLogFeed({ db, clock, log }: FeedDeps): LogFeed {
  const warn = warnOccasionally({ log, clock }, 60_000);
  const position = new FeedPosition();
  const subscribers = new Set<Receive>();
  /** Who waits for the next statement: it sees everything that was committed before they came. */
  let joiners: Joiner[] = [];
  let isRunning = false;
  let isClosed = false;
  let resting: AbortController | null = null;

  const hasClients = () => subscribers.size + joiners.length > 0;

  async function run(): Promise<void> {
    let [lastNews, failures] = [clock.now(), 0];
    while (hasClients()) {
      const startedAt = clock.now();
      const arrived = joiners;
      joiners = [];
      try {
        const { rows, isBehind } = await readNext(startedAt);
        failures = 0;
        if (rows > 0 || arrived.length > 0) lastNews = clock.now();
        // While rows are left that were there before them, new ones cannot be told from old ones.
        if (isBehind) joiners.unshift(...arrived);
        else for (const joiner of arrived) admit(joiner);
        if (isBehind) continue;
      } catch (error) {
        failures += 1;
        if (subscribers.size > 0)
          warn('the live feed cannot read the logs: it tries again', { error });
        for (const joiner of arrived) refuse(joiner, unavailable(error));
      }
      const now = clock.now();
      const interval =
        failures > 0
          ? Math.min(POLL_MS * 2 ** (failures - 1), LONGEST_RETRY_MS)
          : now - lastNews >= IDLE_AFTER_MS
            ? IDLE_POLL_MS
            : POLL_MS;
      await rest(startedAt + interval - now);
    }
    isRunning = false;
  }

  /** One statement: the next batch, or where the logs end when nobody has to be sent what lies between. */
  async function readNext(startedAt: number): Promise<{ rows: number; isBehind: boolean }> {
    if (subscribers.size === 0) {
      await position.start(db, clock, startedAt);
      return { rows: 0, isBehind: false };
    }
    const { rows, isFull } = await position.advance(db, clock, startedAt);
    if (rows.length > 0) deliver(new LogBatch(rows));
    return { rows: rows.length, isBehind: isFull };
  }

  function deliver(batch: LogBatch): void {
    for (const receive of subscribers) {
      try {
        receive(batch);
      } catch (error) {
        log.error('a live client could not be sent to', { error });
      }
    }
  }

  function admit(joiner: Joiner): void {
    if (isClosed) refuse(joiner, unavailable());
    const { waiting, receive, after } = joiner;
    if (waiting === null) return;
    joiner.waiting = null;
    subscribers.add(receive);
    waiting.join(position.joinPoint(after));
  }

  function refuse(joiner: Joiner, error: unknown): void {
    joiner.waiting?.refuse(error);
    joiner.waiting = null;
  }

  /** Rests until the time has passed, somebody comes or the last one leaves. */
  async function rest(ms: number): Promise<void> {
    if (joiners.length > 0 || !hasClients() || ms <= 0) return;
    resting = new AbortController();
    await clock.sleep(ms, resting.signal).catch(() => undefined); // woken
    resting = null;
  }

  function wake(): void {
    resting?.abort();
    if (isRunning || !hasClients()) return;
    isRunning = true;
    void run();
  }

  function leave(joiner: Joiner): void {
    joiners = joiners.filter((other) => other !== joiner);
    subscribers.delete(joiner.receive);
    if (!hasClients()) wake();
  }

  return {
    async subscribe(receive, { after, signal }) {
      if (isClosed) throw unavailable();
      if (signal.aborted) throw hasLeft();
      const point = await new Promise<JoinPoint>((join, reject) => {
        const joiner: Joiner = { receive, after, waiting: { join, refuse: reject } };
        signal.addEventListener('abort', () => {
          leave(joiner);
          refuse(joiner, hasLeft());
        });
        joiners.push(joiner);
        wake();
      });
      if (after === null) return new LogBatch([]);
      try {
        const rows = await replayLogs(db, { after, upTo: point.newest, late: point.late });
        // A row that came between was missing when the subscriber joined: it is handed to `receive`.
        return new LogBatch(rows.filter(({ id }) => !point.isMissing(id)));
      } catch (error) {
        subscribers.delete(receive);
        if (!hasClients()) wake();
        throw unavailable(error);
      }
    },
    close() {
      isClosed = true;
      for (const joiner of joiners) refuse(joiner, unavailable());
      joiners = [];
      subscribers.clear();
      wake();
    },
  };
}

/** Nobody reads this answer. It is the client's doing, and no failure of the server. */
function hasLeft(): AppError {
  return new AppError('BAD_REQUEST', 'the client has left');
}

function unavailable(cause?: unknown): AppError {
  return new AppError('SERVICE_UNAVAILABLE', 'the live feed is unavailable', { cause });
}

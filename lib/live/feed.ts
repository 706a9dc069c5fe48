import { onOwnBehalf } from '../caller.ts';
import type { Clock } from '../clock.ts';
import type { Database } from '../database/database.ts';
import { AppError } from '../errors.ts';
import type { Log } from '../log/log.ts';
import { warnOccasionally } from '../log/occasional-log.ts';
import { replayLogs } from '../records/logs/live.ts';
import { FeedPosition, type JoinPoint } from './feed-position.ts';
import { LogBatch } from './log-batch.ts';

/** The time between polls, normally and after a minute without rows. */
const POLL_MS = 2_000;
const IDLE_POLL_MS = 15_000;
const IDLE_AFTER_MS = 60_000;
/** The maximum time between attempts while the database does not answer. */
const MAX_RETRY_MS = 4_000;

/** Receives each batch of new rows. Must not block. */
export type Receive = (batch: LogBatch) => void;

export interface SubscribeOptions {
  /** The last id that the client has; null for new rows only. */
  after: bigint | null;
  /** Ends the subscription, even before it has started. */
  signal: AbortSignal;
}

/** New rows of execution_logs, from one poller for all subscribers of the process. */
export interface LogFeed {
  /**
   * Passes every row that is committed after this call to `receive`, and resolves with the rows that a resuming
   * client has missed. Each row is delivered exactly once. Throws SERVICE_UNAVAILABLE if the database does not
   * answer, and BAD_REQUEST if the signal aborts first.
   */
  subscribe(receive: Receive, options: SubscribeOptions): Promise<LogBatch>;
  /** Stops polling and refuses new subscribers. */
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
  /** Null once admitted, refused or left, to free its closures while the client stays. */
  waiting: { join(point: JoinPoint): void; refuse(error: unknown): void } | null;
}

/** Creates the feed. It only polls while there are subscribers. */
export function createLogFeed({ db, clock, log }: FeedDeps): LogFeed {
  const warn = warnOccasionally({ log, clock }, 60_000);
  const position = new FeedPosition();
  const subscribers = new Set<Receive>();
  /** Subscribers waiting for the next query, which sees everything committed before they joined. */
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
        // Until all older rows are read, new rows cannot be distinguished from old ones.
        if (isBehind) joiners.unshift(...arrived);
        else for (const joiner of arrived) admit(joiner);
        if (isBehind) continue;
      } catch (error) {
        failures += 1;
        if (subscribers.size > 0)
          warn('the live feed cannot read the logs and tries again', { error });
        for (const joiner of arrived) refuse(joiner, unavailable(error));
      }
      const now = clock.now();
      const interval =
        failures > 0
          ? Math.min(POLL_MS * 2 ** (failures - 1), MAX_RETRY_MS)
          : now - lastNews >= IDLE_AFTER_MS
            ? IDLE_POLL_MS
            : POLL_MS;
      await rest(startedAt + interval - now);
    }
    isRunning = false;
  }

  /** Reads the next batch, or only the end of the logs if there are no subscribers. */
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
        log.error('sending to a live client failed', { error });
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

  /** Sleeps until the time has passed, a subscriber joins or the last one leaves. */
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
    void onOwnBehalf(run);
  }

  function leave(joiner: Joiner): void {
    joiners = joiners.filter((other) => other !== joiner);
    subscribers.delete(joiner.receive);
    if (!hasClients()) wake();
  }

  return {
    async subscribe(receive, { after, signal }) {
      if (isClosed) throw unavailable();
      if (signal.aborted) throw clientDisconnected();
      const point = await new Promise<JoinPoint>((join, reject) => {
        const joiner: Joiner = { receive, after, waiting: { join, refuse: reject } };
        signal.addEventListener('abort', () => {
          leave(joiner);
          refuse(joiner, clientDisconnected());
        });
        joiners.push(joiner);
        wake();
      });
      if (after === null) return new LogBatch([]);
      try {
        const rows = await replayLogs(db, { after, upTo: point.newest, late: point.late });
        // Rows that were missing when the subscriber joined are passed to `receive`.
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

/** Not a server error, because the client disconnected. Nobody reads this answer. */
function clientDisconnected(): AppError {
  return new AppError('BAD_REQUEST', 'the client disconnected');
}

function unavailable(cause?: unknown): AppError {
  return new AppError('SERVICE_UNAVAILABLE', 'the live feed is unavailable', { cause });
}

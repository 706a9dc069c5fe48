import type { Clock } from '../clock.ts';
import type { Database } from '../database/database.ts';
import { type LiveLog, POLL_BATCH_ROWS, pollLogs, readLogEnd } from '../records/live-logs.ts';
import { LateRows } from './late-rows.ts';
import { includesId, MissingIds } from './missing-ids.ts';

/**
 * Where a subscriber joins the feed: every row up to `newest` is old, but for those whose ids are
 * missing. What is found later is new to it.
 */
export interface JoinPoint {
  newest: bigint;
  isMissing(id: bigint): boolean;
  /** Rows below the client's last id that it may have missed. */
  late: readonly bigint[];
}

/** How far the logs are read. It outlives a pause without subscribers. */
export class FeedPosition {
  readonly #missing = new MissingIds();
  readonly #late = new LateRows();
  #newest = 0n;

  /** Goes to the end of the logs. What was missing and came during a pause is noted as late. */
  async start(db: Database, clock: Clock, startedAt: number): Promise<void> {
    const end = await readLogEnd(db, this.#missing.ranges());
    this.#goBack(end.newest);
    this.#late.note(end.found, this.#newest);
    this.#newest = end.newest;
    this.#missing.fill(end.found);
    this.#missing.forget(startedAt);
    this.#missing.renew(end.missing, end.searchedFrom, clock.now());
  }

  /** Reads on, late rows included. */
  async advance(
    db: Database,
    clock: Clock,
    startedAt: number,
  ): Promise<{ rows: LiveLog[]; isFull: boolean }> {
    const { rows, newest } = await pollLogs(db, this.#newest, this.#missing.ranges());
    const passed = this.#newest;
    const late = rows.map(({ id }) => id).filter((id) => id <= passed);
    this.#missing.fill(late);
    this.#missing.forget(startedAt);
    this.#late.note(late, passed);
    for (const { id } of rows) {
      if (id <= passed) continue;
      if (id > this.#newest + 1n) {
        this.#missing.note({ first: this.#newest + 1n, last: id - 1n }, clock.now());
      }
      this.#newest = id;
    }
    this.#goBack(newest);
    return { rows, isFull: rows.length >= POLL_BATCH_ROWS };
  }

  joinPoint(after: bigint | null): JoinPoint {
    const missing = this.#missing.ranges();
    return {
      newest: this.#newest,
      isMissing: (id) => includesId(missing, id),
      late: after === null ? [] : this.#late.since(after),
    };
  }

  /**
   * The logs end before what was read: they were removed, or the table was emptied and its ids start
   * again. Ids above its end may come a second time, as other rows.
   */
  #goBack(newest: bigint): void {
    if (newest >= this.#newest) return;
    this.#newest = newest;
    this.#missing.removeAbove(newest);
    this.#late.clear();
  }
}

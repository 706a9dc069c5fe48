import type { Clock } from '../clock.ts';
import type { Database } from '../database/database.ts';
import { type LiveLog, POLL_BATCH_ROWS, pollLogs, readLogEnd } from '../records/logs/live.ts';
import { LateRows } from './late-rows.ts';
import { includesId, MissingIds } from './missing-ids.ts';

/**
 * Where a subscriber joins the feed. Rows up to `newest` are old, except those whose ids are missing. Rows found
 * later are new.
 */
export interface JoinPoint {
  newest: bigint;
  isMissing(id: bigint): boolean;
  /** Ids of rows below the client's last id that it may have missed. */
  late: readonly bigint[];
}

/** How far the logs have been read. Kept during pauses without subscribers. */
export class FeedPosition {
  readonly #missing = new MissingIds();
  readonly #late = new LateRows();
  #newest = 0n;

  /** Moves to the end of the logs. Missing rows that arrived during a pause are recorded as late. */
  async start(db: Database, clock: Clock, startedAt: number): Promise<void> {
    const end = await readLogEnd(db, this.#missing.ranges());
    this.#goBack(end.newest);
    this.#late.note(end.found, this.#newest);
    this.#newest = end.newest;
    this.#missing.fill(end.found);
    this.#missing.forget(startedAt);
    this.#missing.renew(end.missing, end.searchedFrom, clock.now());
  }

  /** Reads the next rows, including late ones. */
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
   * Moves back if the logs end earlier than before: rows were removed, or the table was emptied and its ids start
   * again. Ids above the end may be used again for other rows.
   */
  #goBack(newest: bigint): void {
    if (newest >= this.#newest) return;
    this.#newest = newest;
    this.#missing.removeAbove(newest);
    this.#late.clear();
  }
}

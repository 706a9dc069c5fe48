import { REPLAY_ROWS } from '../records/logs/live.ts';

interface LateRow {
  id: bigint;
  /** The newest id that had been read when this row arrived. */
  newest: bigint;
}

/**
 * Rows that arrived after rows with higher ids. A client that left in between has missed them, although their ids
 * are lower than the last id it received.
 */
export class LateRows {
  #rows: LateRow[] = [];

  note(ids: readonly bigint[], newest: bigint): void {
    if (ids.length === 0) return;
    // A replay never needs more.
    this.#rows = [...this.#rows, ...ids.map((id) => ({ id, newest }))].slice(-REPLAY_ROWS);
  }

  /** The ids below `id` whose rows may have arrived after `id` was sent. */
  since(id: bigint): bigint[] {
    return this.#rows.filter((row) => row.id < id && id <= row.newest).map((row) => row.id);
  }

  clear(): void {
    this.#rows = [];
  }
}

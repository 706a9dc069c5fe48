import { REPLAY_ROWS } from '../records/live-logs.ts';

interface LateRow {
  id: bigint;
  /** The newest id that had been passed when this row came. */
  newest: bigint;
}

/**
 * Rows that came after rows with higher ids. A client that was sent one of those before may have left
 * before the late one came: it is what the client has missed, though its id is lower.
 */
export class LateRows {
  #rows: LateRow[] = [];

  note(ids: readonly bigint[], newest: bigint): void {
    if (ids.length === 0) return;
    // More than a replay holds are not needed.
    this.#rows = [...this.#rows, ...ids.map((id) => ({ id, newest }))].slice(-REPLAY_ROWS);
  }

  /** The ids below `id` whose rows may have come after the row of `id` was sent. */
  since(id: bigint): bigint[] {
    return this.#rows.filter((row) => row.id < id && id <= row.newest).map((row) => row.id);
  }

  clear(): void {
    this.#rows = [];
  }
}

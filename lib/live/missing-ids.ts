import type { IdRange } from '../records/logs/live.ts';

/** Missing ids are searched for at least this long. */
export const SEARCH_MS = 60_000;
/** Maximum number of ranges. The lowest ids are dropped first. */
export const MAX_RANGES = 2_000;

interface NoticedRange extends IdRange {
  /** Milliseconds since the epoch. */
  readonly noticedAt: number;
}

/**
 * Ids below the newest one that had no row yet. Transactions commit out of order, so their rows may still arrive.
 * Ranges are sorted and disjoint. They are never changed in place, so a result of `ranges()` stays valid.
 */
export class MissingIds {
  #ranges: readonly NoticedRange[] = [];

  ranges(): readonly IdRange[] {
    return this.#ranges;
  }

  /** Adds a range above all others. */
  note({ first, last }: IdRange, now: number): void {
    this.#ranges = [...this.#ranges, { first, last, noticedAt: now }].slice(-MAX_RANGES);
  }

  /** Removes ids whose rows have arrived. */
  fill(ids: readonly bigint[]): void {
    for (const id of ids) {
      const at = indexOfRange(this.#ranges, id);
      const range = this.#ranges[at];
      if (range === undefined) continue;
      const rest = [
        { ...range, last: id - 1n },
        { ...range, first: id + 1n },
      ].filter(({ first, last }) => first <= last);
      this.#ranges = this.#ranges.toSpliced(at, 1, ...rest);
    }
  }

  /** Drops ranges that a search at `searchedAt` did not find and that were searched for long enough. */
  forget(searchedAt: number): void {
    if (!this.#ranges.some(({ noticedAt }) => searchedAt - noticedAt >= SEARCH_MS)) return;
    this.#ranges = this.#ranges.filter(({ noticedAt }) => searchedAt - noticedAt < SEARCH_MS);
  }

  /** Drops every id above this one. */
  removeAbove(id: bigint): void {
    this.#ranges = this.#ranges
      .filter(({ first }) => first <= id)
      .map((range) => (range.last > id ? { ...range, last: id } : range));
  }

  /** Replaces everything above `from` with these sorted ranges, after a new search. */
  renew(ranges: readonly IdRange[], from: bigint, now: number): void {
    this.removeAbove(from);
    const noticed = ranges.map((range) => ({ ...range, noticedAt: now }));
    this.#ranges = [...this.#ranges, ...noticed].slice(-MAX_RANGES);
  }
}

/** Is the id in one of the sorted ranges? */
export function includesId(ranges: readonly IdRange[], id: bigint): boolean {
  return indexOfRange(ranges, id) !== -1;
}

/** The index of the range that contains an id, by binary search; -1 if none does. */
function indexOfRange(ranges: readonly IdRange[], id: bigint): number {
  let [low, high] = [0, ranges.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const range = ranges[middle];
    if (range === undefined) break;
    if (id < range.first) high = middle - 1;
    else if (id > range.last) low = middle + 1;
    else return middle;
  }
  return -1;
}

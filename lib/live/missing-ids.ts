import type { IdRange } from '../records/live-logs.ts';

/** Missing ids are looked for at least so long after they were noticed. */
export const LOOK_FOR_MS = 60_000;
/** Most ranges that are remembered; the lowest ids are forgotten first. */
export const MAX_RANGES = 2_000;

interface NoticedRange extends IdRange {
  /** Milliseconds since the epoch. */
  readonly noticedAt: number;
}

/**
 * Ids below the newest that had no row when they were passed. Ids come from a sequence and transactions
 * commit out of order, so their rows may still come. Ranges are sorted, disjoint and never changed in
 * place: `ranges()` stays what it was.
 */
export class MissingIds {
  #ranges: readonly NoticedRange[] = [];

  ranges(): readonly IdRange[] {
    return this.#ranges;
  }

  /** Adds a range, which lies above all others. */
  note({ first, last }: IdRange, now: number): void {
    this.#ranges = [...this.#ranges, { first, last, noticedAt: now }].slice(-MAX_RANGES);
  }

  /** The rows of these ids have come. */
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

  /** Forgets what a look at `lookedAt` did not find and that was looked for long enough. */
  forget(lookedAt: number): void {
    if (!this.#ranges.some(({ noticedAt }) => lookedAt - noticedAt >= LOOK_FOR_MS)) return;
    this.#ranges = this.#ranges.filter(({ noticedAt }) => lookedAt - noticedAt < LOOK_FOR_MS);
  }

  /** Forgets every id above this one. */
  removeAbove(id: bigint): void {
    this.#ranges = this.#ranges
      .filter(({ first }) => first <= id)
      .map((range) => (range.last > id ? { ...range, last: id } : range));
  }

  /** Everything above `from` was searched anew, and these sorted ranges are missing there. */
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

/** The range that holds an id, by bisection; -1 when none does. */
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

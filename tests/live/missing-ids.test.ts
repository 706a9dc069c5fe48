import { describe, expect, it } from 'vitest';
import { includesId, MAX_RANGES, MissingIds, SEARCH_MS } from '../../lib/live/missing-ids.ts';

const at = (first: number, last = first) => ({ first: BigInt(first), last: BigInt(last) });
const bounds = (missing: MissingIds) =>
  missing.ranges().map(({ first, last }) => [Number(first), Number(last)]);

describe('missing ids', () => {
  it.each([
    [
      'the first of a range',
      [3],
      [
        [4, 5],
        [9, 9],
      ],
    ],
    [
      'the last of a range',
      [5],
      [
        [3, 4],
        [9, 9],
      ],
    ],
    [
      'one within a range',
      [4],
      [
        [3, 3],
        [5, 5],
        [9, 9],
      ],
    ],
    ['a range of one', [9], [[3, 5]]],
    ['several', [3, 4, 5, 9], []],
    [
      'one that was not missing',
      [6],
      [
        [3, 5],
        [9, 9],
      ],
    ],
  ])('are split when rows arrive: %s', (_name, found, left) => {
    const missing = new MissingIds();
    missing.note(at(3, 5), 0);
    missing.note(at(9), 0);
    missing.fill(found.map(BigInt));
    expect(bounds(missing)).toEqual(left);
  });

  it('are dropped once they have been searched for long enough', () => {
    const missing = new MissingIds();
    missing.note(at(1), 0);
    missing.note(at(3), 1);
    missing.forget(SEARCH_MS - 1);
    expect(bounds(missing)).toEqual([
      [1, 1],
      [3, 3],
    ]);
    missing.forget(SEARCH_MS);
    expect(bounds(missing)).toEqual([[3, 3]]);
    expect(SEARCH_MS).toBeGreaterThanOrEqual(30_000);
  });

  it('are limited in number, and the lowest are dropped first', () => {
    const missing = new MissingIds();
    for (let n = 0; n <= MAX_RANGES; n++) missing.note(at(2 * n), 0);
    expect(missing.ranges()).toHaveLength(MAX_RANGES);
    expect(bounds(missing)[0]).toEqual([2, 2]);
  });

  it('are kept below the range of a new search', () => {
    const missing = new MissingIds();
    missing.note(at(1, 10), 0);
    missing.renew([at(8), at(20, 30)], 6n, 5);
    expect(bounds(missing)).toEqual([
      [1, 6],
      [8, 8],
      [20, 30],
    ]);
    missing.forget(SEARCH_MS);
    expect(bounds(missing)).toEqual([
      [8, 8],
      [20, 30],
    ]);
  });

  it('do not change in a result that was returned earlier', () => {
    const missing = new MissingIds();
    missing.note(at(1, 3), 0);
    const before = missing.ranges();
    missing.fill([2n]);
    expect([1n, 2n, 3n, 4n].map((id) => includesId(before, id))).toEqual([true, true, true, false]);
    expect(includesId(missing.ranges(), 2n)).toBe(false);
  });
});

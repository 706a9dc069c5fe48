import { expect, it } from 'vitest';
import { findSuperseded } from '../../../lib/worker/offsite/superseded.ts';

/** States numbered from 1, each given by its versions, oldest first. */
const superseded = (...states: string[]) =>
  [
    ...findSuperseded(
      states.map((versions, index) => ({ number: index + 1, versions: versions.split(' ') })),
    ),
  ].sort();

it.each([
  ['a later one with all of its versions', ['a', 'a b', 'a b c'], [1, 2]],
  ['one with the same versions', ['a b', 'a b'], [1]],
  ['a later one that has pruned them, if others lead to it', ['a b', 'b c', 'c d'], [1, 2]],
])('a state is superseded by %s', (_, states, expected) => {
  expect(superseded(...states)).toEqual(expected);
});

it.each([
  ['of an archive that started over', ['a b', 'x', 'x y'], [2]],
  ['of two machines in turn', ['a', 'x', 'a b', 'x y'], [1, 2]],
  ['of an archive that was rolled back and continued otherwise', ['a b c', 'a b', 'a b x'], [2]],
  ['of a newer version than that of a state put after it', ['a b c', 'a'], []],
  ['of which nothing leads to the newest', ['a', 'b', 'c'], []],
])('states are kept %s', (_, states, expected) => {
  expect(superseded(...states)).toEqual(expected);
});

import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { secretsEqual } from '../../../lib/security/crypto.ts';
import { times } from '../size.ts';
import { printTimes, sample, spreadOf } from './samples.ts';

// Measures whether the duration of a comparison reveals how much of a guess is right.
// tests/security/comparisons.test.ts checks the code; this is only a rough measurement, since the machine may be busy.

const expected = randomBytes(30).toString('base64');
/** Few enough that the machine does little else between the first and the last. */
const BATCH = 50;
const ROUNDS = times(2_000, 200_000);

/** A batch of comparisons, each with a guess whose first letters are right and whose other letters are wrong. */
function guess(compare: (given: string, expected: string) => boolean, right: number) {
  const wrong = [...expected.slice(right)].map((letter) => (letter === 'x' ? 'y' : 'x')).join('');
  const given = expected.slice(0, right) + wrong;
  return {
    name: `${BATCH} with ${right} right`,
    act() {
      let equal = 0;
      for (let n = 0; n < BATCH; n += 1) equal += compare(given, expected) ? 1 : 0;
      if (equal !== 0) throw new Error('a wrong guess was taken for right');
    },
  };
}

it('a comparison takes as long however much of the guess is right', async () => {
  const half = Math.floor(expected.length / 2);
  const guesses = [0, 1, half, expected.length - 1].map((right) => guess(secretsEqual, right));
  const measured = await sample(guesses, ROUNDS);
  printTimes(guesses, measured);
  expect(spreadOf(measured)).toBeLessThan(0.25);
});

it('a comparison takes as long even if the secret is so long that the processor itself would show it', async () => {
  const long = 'x'.repeat(2 ** 16);
  const guesses = [`y${long.slice(1)}`, `${long.slice(1)}y`].map((given, at) => ({
    name: `one with ${at === 0 ? 'nothing' : 'all but the end'} right`,
    act() {
      if (secretsEqual(given, long)) throw new Error('a wrong guess was taken for right');
    },
  }));
  const measured = await sample(guesses, times(500, 20_000));
  printTimes(guesses, measured);
  expect(spreadOf(measured)).toBeLessThan(0.25);
});

it('a comparison that stops at the first wrong letter is noticed', async () => {
  const stops = (given: string, wanted: string) => {
    for (let at = 0; at < wanted.length; at += 1) if (given[at] !== wanted[at]) return false;
    return true;
  };
  const guesses = [0, expected.length - 1].map((right) => guess(stops, right));
  expect(spreadOf(await sample(guesses, ROUNDS))).toBeGreaterThan(0.25);
});

import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { secretsEqual } from '../../../lib/platform/crypto.ts';
import { times } from '../size.ts';

// Whether the time of a comparison tells how much of a guess is right. That it does not is in how the
// comparison is made (tests/security/comparisons.test.ts); here it is measured, and what is measured on a
// machine with other work is held to little.

const expected = randomBytes(30).toString('base64');
const BATCH = 50;
const ROUNDS = times(2_000, 200_000);

/** A guess whose first letters are right, and the others wrong, each. */
function guessOf(right: number): string {
  const wrong = [...expected.slice(right)].map((letter) => (letter === 'x' ? 'y' : 'x')).join('');
  return expected.slice(0, right) + wrong;
}

/** Nanoseconds of one comparison, over a batch. */
function measure(compare: (given: string, expected: string) => boolean, given: string): number {
  const start = process.hrtime.bigint();
  let equal = 0;
  for (let n = 0; n < BATCH; n += 1) equal += compare(given, expected) ? 1 : 0;
  if (equal !== 0) throw new Error('a wrong guess was taken for right');
  return Number(process.hrtime.bigint() - start) / BATCH;
}

/** The time that nine of ten batches take longer than: what else the machine does only adds to a time. */
function quick(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 10)] ?? 0;
}

/** Times of guesses with so many right letters, measured in turns so that noise meets all alike. */
function measureGuesses(compare: (given: string, expected: string) => boolean, rights: number[]) {
  const guesses = rights.map((right) => ({ given: guessOf(right), values: [] as number[] }));
  for (const { given } of guesses) for (let n = 0; n < 20; n += 1) measure(compare, given);
  for (let round = 0; round < ROUNDS; round += 1) {
    const from = round % guesses.length;
    for (const { given, values } of [...guesses.slice(from), ...guesses.slice(0, from)]) {
      values.push(measure(compare, given));
    }
  }
  return guesses.map(({ values }) => quick(values));
}

it('a guess takes as long however much of it is right', () => {
  const rights = [0, 1, Math.floor(expected.length / 2), expected.length - 1];
  const measured = measureGuesses(secretsEqual, rights);
  const spread = Math.max(...measured) / Math.min(...measured) - 1;
  process.stdout.write(
    `timing: ${rights.map((right, index) => `${right} right ${measured[index]?.toFixed(1)} ns`).join(', ')}; spread ${(spread * 100).toFixed(2)}%\n`,
  );
  expect(spread).toBeLessThan(0.25);
});

it('a comparison that stops at the first wrong letter would be seen', () => {
  const stops = (given: string, wanted: string) => {
    for (let at = 0; at < wanted.length; at += 1) if (given[at] !== wanted[at]) return false;
    return true;
  };
  const [none = 0, most = 0] = measureGuesses(stops, [0, expected.length - 1]);
  expect(most / none - 1).toBeGreaterThan(0.25);
});

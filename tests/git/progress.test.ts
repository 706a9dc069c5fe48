import { describe, expect, it } from 'vitest';
import { type Progress, parseProgress, readProgress } from '../../lib/git/progress.ts';

it.each([
  [
    'Receiving objects:  45% (450/1000), 1.20 MiB | 300.00 KiB/s',
    'Receiving objects',
    45,
    1_258_291,
  ],
  ['Receiving objects: 100% (9/9), 812 bytes | 812.00 KiB/s, done.', 'Receiving objects', 100, 812],
  ['Receiving objects:   0% (1/841000)', 'Receiving objects', 0, null],
  ['Receiving objects: 100% (5/5), 2.00 GiB | 9 MiB/s', 'Receiving objects', 100, 2 ** 31],
  ['Resolving deltas:  12% (3/25)', 'Resolving deltas', 12, null],
  ['Resolving deltas: 100% (25/25), done.', 'Resolving deltas', 100, null],
  ['remote: Enumerating objects: 5, done.        ', 'Enumerating objects', null, null],
  ['remote: Counting objects:  50% (1/2)        ', 'Counting objects', 50, null],
  ['remote: Compressing objects: 100% (2/2), done.', 'Compressing objects', 100, null],
  ['Checking connectivity: 1284, done.', 'Checking connectivity', null, null],
])('progress is read from %s', (line, phase, percent, bytes) => {
  expect(parseProgress(line)).toEqual({ phase, percent, bytes });
});

it.each([
  'fatal: early EOF',
  'remote: Hello: you may not fetch 5% of this',
  'remote: Total 9 (delta 0), reused 9 (delta 0), pack-reused 0',
  "Cloning into bare repository 'x'...",
  'receiving objects:  45% (450/1000)',
  'Receiving objects: 45% (450/1000',
  'Receiving \u001b[2J objects:  45% (450/1000)',
  'A b c d e f g:  45% (4/9)',
  'Receiving objects: 9999% (450/1000)',
  '',
])('no progress is read from %j', (line) => {
  expect(parseProgress(line)).toBeNull();
});

describe('the reader of chunks', () => {
  const read = (...chunks: string[]) => {
    const seen: Progress[] = [];
    const take = readProgress((progress) => seen.push(progress));
    for (const chunk of chunks) take(chunk);
    return seen;
  };

  it('joins lines and reports the newest of each chunk', () => {
    const seen = read(
      'Receiving objects:   1% (1/100)\rReceiving objects:   2% (2/1',
      '00)\rReceiving objects: 3% (3/100)\r',
      'fatal: early EOF\n',
    );
    expect(seen.map(({ percent }) => percent)).toEqual([1, 3]);
  });

  it('reports no more than 100 %', () => {
    expect(read('Receiving objects: 250% (5/2)\n')).toMatchObject([{ percent: 100 }]);
  });

  // Quadratic time would mean hours, and the test would not end.
  it('keeps only the start of an endless line', () => {
    const chunk = 'Receiving objects: '.padEnd(64 * 1_024, '9');
    expect(read(...Array.from({ length: 4_000 }, () => chunk))).toEqual([]);
    expect(read('x'.repeat(10_000), '\rResolving deltas:  12% (3/25)\r')).toHaveLength(1);
  });
});

import { expect, it } from 'vitest';
import { formatBytes, formatDuration } from '../../lib/text/units.ts';

it.each([
  [0, '0 B'],
  [1_023, '1023 B'],
  [1_536, '1.5 KiB'],
  [5 * 2 ** 30, '5.0 GiB'],
])('formatBytes formats %d bytes as %s', (bytes, shown) => {
  expect(formatBytes(bytes)).toBe(shown);
});

it.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1_250, '1.3 s'],
  [59_949, '59.9 s'],
  [59_951, '1 min'],
  [65_000, '1 min 5 s'],
  [7_380_000, '2 h 3 min'],
])('formatDuration formats %d milliseconds as %s', (ms, shown) => {
  expect(formatDuration(ms)).toBe(shown);
});

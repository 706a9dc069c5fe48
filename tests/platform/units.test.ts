import { expect, it } from 'vitest';
import { formatBytes } from '../../lib/platform/units.ts';

it.each([
  [0, '0 B'],
  [1_023, '1023 B'],
  [1_536, '1.5 KiB'],
  [5 * 2 ** 30, '5.0 GiB'],
])('shows %d bytes as %s', (bytes, shown) => {
  expect(formatBytes(bytes)).toBe(shown);
});

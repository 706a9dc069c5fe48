import { expect, it } from 'vitest';
import { cutToWidth } from '../../lib/text/cut-width.ts';

it.each([
  ['abcdef', 6, 'abcdef'],
  ['abcdef', 5, 'abcd…'],
  ['abcdef', 1, '…'],
  ['abcdef', 0, ''],
  ['', 0, ''],
  // Characters of two columns each.
  ['漢字漢字', 8, '漢字漢字'],
  ['漢字漢字', 7, '漢字漢…'],
  ['漢字漢字', 6, '漢字…'],
  ['👩‍👩‍👧‍👦ab', 4, '👩‍👩‍👧‍👦ab'],
  ['👩‍👩‍👧‍👦ab', 3, '👩‍👩‍👧‍👦…'],
  // A letter and its accent take one column, and are not separated.
  ['e\u0301e\u0301e\u0301', 3, 'e\u0301e\u0301e\u0301'],
  ['e\u0301e\u0301e\u0301', 2, 'e\u0301…'],
  ['שלום', 4, 'שלום'],
  ['שלום', 3, 'של…'],
  ['█░ a', 4, '█░ a'],
])('cutToWidth cuts %s to %d columns as %s', (text, columns, shown) => {
  expect(cutToWidth(text, columns)).toBe(shown);
});

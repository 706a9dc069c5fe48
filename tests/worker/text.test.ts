import { expect, it } from 'vitest';
import { cleanText, formatBytes } from '../../lib/worker/text.ts';

it.each([
  ['a NUL, which Postgres refuses', 'a\u0000b', 'ab'],
  ['line breaks', ' one\r\n\n  two\n', 'one two'],
  ['terminal sequences', '\u001b]0;title\u0007x\u009b2J', ']0;titlex2J'],
  ['text that reads backwards', 'a\u202eb\u2066c', 'abc'],
  ['half a character', 'a\ud800b', 'a\ufffdb'],
  [
    'a credential split by a control character',
    'https://a:se\u0000cret@h/',
    'https://[redacted]@h/',
  ],
])('cleans %s', (_, text, clean) => {
  expect(cleanText(text)).toBe(clean);
});

it('cuts a text only after its credentials are gone', () => {
  const text = `${'x'.repeat(80)} https://user:secret-value@host/`;
  expect(cleanText(text, 100)).toBe(`${'x'.repeat(80)} https://[redacted]…`);
});

it.each([
  [0, '0 B'],
  [1_023, '1023 B'],
  [1_536, '1.5 KiB'],
  [5 * 2 ** 30, '5.0 GiB'],
])('shows %d bytes as %s', (bytes, shown) => {
  expect(formatBytes(bytes)).toBe(shown);
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cleanText, MAX_TEXT_LENGTH } from '../../lib/text/clean-text.ts';

it.each([
  ['a NUL, which Postgres rejects', 'a\u0000b', 'ab'],
  ['line breaks', ' one\r\n\n  two\n', 'one two'],
  ['terminal sequences', '\u001b]0;title\u0007x\u009b2J', ']0;titlex2J'],
  ['text that reads backwards', 'a\u202eb\u2066c', 'abc'],
  ['a lone surrogate', 'a\ud800b', 'a\ufffdb'],
  [
    'a credential split by a control character',
    'https://a:se\u0000cret@h/',
    'https://[redacted]@h/',
  ],
])('cleanText cleans %s', (_, text, clean) => {
  expect(cleanText(text)).toBe(clean);
});

describe('a text of two million characters', () => {
  const long = 2 ** 21;

  // With quadratic time the test would run for hours.
  it.each([
    ['spaces', ' '.repeat(long)],
    ['line breaks', '\n'.repeat(long)],
    ['both alternately', ' \n'.repeat(long / 2)],
    ['control characters', '\u0001'.repeat(long)],
    ['starts of URLs', '://'.repeat(long / 3)],
    ['starts of bearer values', 'bearer '.repeat(long / 7)],
  ])('is cleaned in linear time if it consists of %s', (_, filling) => {
    const cleaned = cleanText(`a${filling}b`);
    expect(cleaned).toMatch(/^(a.*)?…$/u);
    expect(cleaned.length).toBeLessThanOrEqual(MAX_TEXT_LENGTH);
  });

  it('keeps no part of a credential, wherever it is cut', () => {
    const credential = 'https://ada:secret-value@host/';
    for (let before = 2 ** 18 - credential.length; before <= 2 ** 18; before++) {
      const hidden = `a${'\n'.repeat(before - 1)}${credential}${'x'.repeat(long)}`;
      expect(cleanText(hidden)).not.toContain('secr');
    }
  });
});

it('cleanText turns any text into one bounded line without control characters or credentials', () => {
  const noise = fc.string({
    unit: fc.constantFrom(
      ' ',
      '\n',
      '\r\n',
      '\t',
      '\u0000',
      '\u001b',
      '\u202e',
      '\ud800',
      'é',
      '😀',
      '/',
      '@',
    ),
    maxLength: 300,
  });
  const control = fc.string({ unit: fc.constantFrom('\u0000', '\u0007', '\u009b', '\u202e') });
  const planted = fc
    .tuple(control, control)
    .map(([one, other]) => `https://ada:pass${one}word${other}@example.org/x`);
  fc.assert(
    fc.property(noise, planted, noise, fc.integer({ min: 1, max: 400 }), (a, secret, b, most) => {
      const cleaned = cleanText(`${a} ${secret} ${b}`, most);
      expect(cleaned).not.toMatch(/[\p{Cc}\u202e]|password/u);
      expect(cleaned.length).toBeLessThanOrEqual(most);
      expect(cleaned.isWellFormed()).toBe(true);
    }),
  );
});

it('cleanText removes credentials before it cuts a text', () => {
  const text = `${'x'.repeat(80)} https://user:secret-value@host/`;
  expect(cleanText(text, 100)).toBe(`${'x'.repeat(80)} https://[redacted]…`);
});

import { describe, expect, it } from 'vitest';
import { cutText } from '../../lib/security/redaction/cut-text.ts';
import { createRedactor } from '../../lib/security/redaction/redactor.ts';

describe('cutText', () => {
  it('leaves a text within the limit unchanged', () => {
    expect(cutText('x'.repeat(100), 100)).toBe('x'.repeat(100));
  });

  it('ends a longer text with a mark that states how much is missing', () => {
    expect(cutText('x'.repeat(1_000), 100)).toBe(`${'x'.repeat(60)}… [cut: 940 more characters]`);
  });

  it('counts what an earlier cut removed', () => {
    const once = cutText('x'.repeat(1_000), 500);
    expect(cutText(once, 100)).toBe(cutText('x'.repeat(1_000), 100));
  });

  it('never cuts inside a character', () => {
    const text = `${'x'.repeat(59)}${'😀'.repeat(100)}`;
    expect(cutText(text, 100)).toBe(`${'x'.repeat(59)}… [cut: 200 more characters]`);
  });
});

describe('a redactor', () => {
  const secret = 'the-configured-secret-of-a-test-0123456789';
  const token = `ghp_${'A1b2'.repeat(9)}`;

  it.each([secret, token])('recognizes half of %s before the mark of a cut', (whole) => {
    const text = cutText(`${'x '.repeat(200)}${whole.slice(0, 20)}${'rest'.repeat(100)}`, 460);
    expect(text).toContain(whole.slice(0, 20));
    const shown = createRedactor([secret]).text(text);
    expect(shown).not.toContain(whole.slice(0, 12));
    expect(shown).toMatch(/… \[cut: \d+ more characters\]$/);
  });
});

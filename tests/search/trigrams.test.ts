import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { trigramsOf } from '../../lib/search/trigrams.ts';

describe('trigramsOf', () => {
  it.each([
    ['Clone', ['clo', 'lon', 'one']],
    ['a/bc def-def', ['a', 'bc', 'def']],
    ['über 𝒜𝒷𝒸𝒹', ['übe', 'ber', '𝒜𝒷𝒸', '𝒷𝒸𝒹']],
    ['!? --', []],
  ])('splits %j into %j', (text, pieces) => {
    expect(trigramsOf(text)).toEqual(pieces);
  });

  it('takes 32 trigrams of a long text, from all parts of it', () => {
    const words = Array.from({ length: 100 }, (_, n) => String(n + 100));
    const pieces = trigramsOf(words.join(' '));
    expect(pieces).toHaveLength(32);
    expect(pieces.at(-1)).toBe('196');
  });

  it('returns only distinct, non-empty parts of the text', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), (text) => {
        const pieces = trigramsOf(text);
        expect(new Set(pieces).size).toBe(pieces.length);
        for (const piece of pieces) {
          expect(piece).not.toBe('');
          expect(text.toLowerCase()).toContain(piece);
        }
      }),
    );
  });
});

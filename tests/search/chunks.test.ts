import fc from 'fast-check';
import { expect, it } from 'vitest';
import { CHUNK_LENGTH, splitIntoChunks } from '../../lib/search/chunks.ts';

const loneSurrogate = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

it('splitIntoChunks returns one chunk for a short text and none for a blank one', () => {
  expect(splitIntoChunks('  cloning  ')).toEqual(['cloning']);
  expect(splitIntoChunks('')).toEqual([]);
  expect(splitIntoChunks(' \n\t ')).toEqual([]);
});

it('splitIntoChunks makes no chunk longer than the limit, splits no character and leaves nothing out', () => {
  const words = fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }), {
    minLength: 50,
    maxLength: 300,
  });
  fc.assert(
    fc.property(words, fc.constantFrom(' ', '\n', '. ', ''), (parts, separator) => {
      const text = parts.join(separator);
      const chunks = splitIntoChunks(text);
      let covered = 0;
      for (const chunk of chunks) {
        expect(chunk.length).toBeLessThanOrEqual(CHUNK_LENGTH);
        expect(chunk).not.toMatch(loneSurrogate);
        const at = text.indexOf(chunk, Math.max(0, covered - 150));
        expect(at).toBeGreaterThanOrEqual(0);
        // Only white space lies between a chunk and the next one.
        expect(text.slice(covered, Math.max(covered, at)).trim()).toBe('');
        covered = at + chunk.length;
      }
      expect(text.slice(covered).trim()).toBe('');
    }),
    { numRuns: 50 },
  );
});

it('splitIntoChunks ends a chunk with a paragraph, line or sentence that ends late enough', () => {
  const [first] = splitIntoChunks(
    `${'a'.repeat(700)}. b\nc ${'d'.repeat(100)}\n\n${'e '.repeat(500)}`,
  );
  expect(first).toBe(`${'a'.repeat(700)}. b\nc ${'d'.repeat(100)}`);
  const [line] = splitIntoChunks(`${'a'.repeat(700)}. b\n${'c '.repeat(500)}`);
  expect(line).toBe(`${'a'.repeat(700)}. b`);
});

it('splitIntoChunks makes neighbours overlap, so that a sentence at the boundary is complete in one of them', () => {
  const text = Array.from({ length: 400 }, (_, n) => `word${n}`).join(' ');
  const [first = '', second = ''] = splitIntoChunks(text);
  const overlap = first.slice(first.lastIndexOf(second.slice(0, 20)));
  expect(overlap.length).toBeGreaterThan(50);
  expect(second.startsWith(overlap)).toBe(true);
});

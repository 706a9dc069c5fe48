import fc from 'fast-check';
import { expect, it } from 'vitest';
import { splitMarkdown } from '../../web/src/parts/split-markdown.ts';

// Long answers are parsed in parts, so that each piece that is streamed costs no more than the last part.

const line = fc.constantFrom('', '', 'Some words. '.repeat(30), '- item', '```', '  code', '| a |');
const markdown = fc.array(line, { maxLength: 200 }).map((lines) => lines.join('\n'));

it('loses nothing, and no part is longer than 8,000 characters', () => {
  fc.assert(
    fc.property(fc.oneof(markdown, fc.string({ maxLength: 30_000 })), (text) => {
      const parts = splitMarkdown(text);
      expect(parts.join('')).toBe(text);
      for (const part of parts) expect(part.length).toBeLessThanOrEqual(8_000);
    }),
  );
});

it('leaves every part but the last as it is when the text grows by lines', () => {
  fc.assert(
    fc.property(markdown, markdown, (text, more) => {
      const before = splitMarkdown(`${text}\n`);
      const after = splitMarkdown(`${text}\n${more}`);
      expect(after.slice(0, before.length - 1)).toEqual(before.slice(0, -1));
    }),
  );
});

it('cuts neither a list nor a block of code', () => {
  const words = 'Some words. '.repeat(200);
  const list = `- one\n\n- ${words}\n\n  more of two\n\n- three`;
  const code = `\`\`\`\nfirst\n\nsecond ${words}\n\nthird\n\`\`\``;
  expect(splitMarkdown(`${list}\n\nAfter it.`)).toEqual([`${list}\n\n`, 'After it.']);
  expect(splitMarkdown(`${code}\n\nAfter it.`)).toEqual([`${code}\n\n`, 'After it.']);
});

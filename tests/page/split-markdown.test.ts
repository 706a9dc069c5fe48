import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isHardToParse } from '../../web/src/parts/markdown/hard-markdown.ts';
import { splitMarkdown } from '../../web/src/parts/markdown/split-markdown.ts';

// Long answers are parsed in parts, so that each streamed piece costs no more than parsing the last part.

const line = fc.constantFrom('', '', 'Some words. '.repeat(30), '- item', '```', '  code', '| a |');
const markdown = fc.array(line, { maxLength: 200 }).map((lines) => lines.join('\n'));

const isCode = (text: string) => /^ {0,3}(?:`{3}|~{3})/m.test(text);

it('splitMarkdown loses nothing, and no part is longer than 8,000 characters', () => {
  fc.assert(
    fc.property(fc.oneof(markdown, fc.string({ maxLength: 30_000 })), (text) => {
      fc.pre(!isCode(text));
      const parts = splitMarkdown(text);
      expect(parts.join('')).toBe(text);
      for (const part of parts) expect(part.length).toBeLessThanOrEqual(8_000);
    }),
  );
});

it('splitMarkdown keeps all parts but the last unchanged when the text grows by lines', () => {
  fc.assert(
    fc.property(markdown, markdown, (text, more) => {
      const before = splitMarkdown(`${text}\n`);
      const after = splitMarkdown(`${text}\n${more}`);
      expect(after.slice(0, before.length - 1)).toEqual(before.slice(0, -1));
    }),
  );
});

it('splitMarkdown cuts neither a list nor a block of code', () => {
  const words = 'Some words. '.repeat(200);
  const list = `- one\n\n- ${words}\n\n  more of two\n\n- three`;
  const code = `\`\`\`\nfirst\n\nsecond ${words}\n\nthird\n\`\`\``;
  expect(splitMarkdown(`${list}\n\nAfter it.`)).toEqual([`${list}\n\n`, 'After it.']);
  expect(splitMarkdown(`${code}\n\nAfter it.`)).toEqual([`${code}\n\n`, 'After it.']);
});

it('splitMarkdown closes and reopens a block of code that is too long for one part', () => {
  const lines = Array.from({ length: 1_000 }, (_, n) => `* line ${n} \`\`\``);
  const parts = splitMarkdown(`~~~~text\n${lines.join('\n')}\n~~~\n~~~~\n\nAfter it.`);
  expect(parts.length).toBeGreaterThan(2);
  const [after, last, ...others] = parts.toReversed();
  for (const part of others) expect(part).toMatch(/^~~~~(?:text)?\n[^~]*\n~~~~\n$/);
  expect(last).toMatch(/^~~~~\n[^~]*\n~~~\n~~~~\n\n$/);
  expect(after).toBe('After it.');
  const inside = parts.join('').match(/^\* line .*$/gm);
  expect(inside).toEqual(lines);
});

it('splitMarkdown adds nothing to a text with a very long code mark', () => {
  const text = `${'`'.repeat(7_990)}\n${'a\n'.repeat(50_000)}`;
  expect(splitMarkdown(text).join('')).toBe(text);
});

it.each([
  ['quotes within quotes', '> '.repeat(3_000)],
  ['quotes within a footnote', `[^a]: ${'>'.repeat(7_900)}x\n\ntext[^a]`],
  ['lists within a footnote', `[^a]: ${'- '.repeat(3_900)}x\n\n[^a]`],
  ['images within images', `${'!['.repeat(1_300)}x${'](y)'.repeat(1_300)}`],
  ['a footnote with many references', `${'[^a]'.repeat(1_900)}\n\n[^a]: x`],
])('isHardToParse finds %s', (_what, text) => {
  const large = splitMarkdown(text).filter(({ length }) => length > 1_000);
  expect(large.length).toBeGreaterThan(0);
  expect(large.every(isHardToParse)).toBe(true);
});

it('isHardToParse lets an ordinary answer be parsed', () => {
  const answer = '# Why\n\n- [run 1](/app/runs/1) failed\n- > twice\n\n| a | b |\n| - | - |\n';
  expect(isHardToParse(answer.repeat(20))).toBe(false);
});

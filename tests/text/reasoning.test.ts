import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  joinPieces,
  ReasoningSplitter,
  type SaidPiece,
  splitReasoning,
} from '../../lib/text/reasoning.ts';

describe('the reasoning in a text', () => {
  it.each<[string, string, string, string]>([
    ['nothing', 'All is well.', 'All is well.', ''],
    ['at the start', '<think>\nHm.\n</think>\n\nYes.', 'Yes.', '\nHm.\n'],
    ['in other letters', '<THINKING>Hm.</Thinking>Yes.', 'Yes.', 'Hm.'],
    ['within a line', 'So <think>hm</think> yes.', 'So  yes.', 'hm'],
    ['twice', '<think>a</think>One. <think>b</think>Two.', 'One. Two.', 'ab'],
    ['without an end', 'So.\n<think>hm, and', 'So.\n', 'hm, and'],
    ['without a start', 'Hm.\n</think>\n\nYes.', 'Yes.', 'Hm.\n'],
    ['without a start only once', 'a</think>b</think>c', 'b</think>c', 'a'],
    ['that is nested', '<think>a <think> b</think>Yes.', 'Yes.', 'a <think> b'],
    ['that is empty', '<think>\n\n</think>\n\nYes.', 'Yes.', '\n\n'],
    ['in code', 'Write `<think>` first.', 'Write `<think>` first.', ''],
    [
      'in a block',
      '```xml\n<think>a</think>\n```\nYes.',
      '```xml\n<think>a</think>\n```\nYes.',
      '',
    ],
    ['after a block', '```\na\n```\n<think>b</think>Yes.', '```\na\n```\nYes.', 'b'],
    ['with code in it', '<think>```</think>Yes.', 'Yes.', '```'],
    ['in another tag', '<thinker>a</thinker> 1 < 2', '<thinker>a</thinker> 1 < 2', ''],
  ])('is found %s', (_case, said, text, reasoning) => {
    expect(splitReasoning(said)).toEqual({ text, reasoning });
  });

  it('is the same in whatever pieces the text arrives', () => {
    const part = fc.constantFrom(
      '<think>',
      '</think>',
      '<thi',
      'nk>',
      'a',
      '\n',
      '```',
      '`',
      '<',
      ' ',
    );
    fc.assert(
      fc.property(fc.array(part), fc.array(fc.nat(5)), (parts, sizes) => {
        const said = parts.join('');
        const splitter = new ReasoningSplitter();
        const pieces: SaidPiece[] = [];
        let at = 0;
        for (const size of [...sizes, said.length]) {
          pieces.push(...splitter.push(said.slice(at, at + size)));
          at += size;
        }
        expect(joinPieces([...pieces, ...splitter.end()])).toEqual(splitReasoning(said));
      }),
    );
  });
});

import { describe, expect, it } from 'vitest';
import { AnswerReader } from '../../../lib/database/embedded/answer-reader.ts';
import { cstrings, frame, readyMessage } from '../../../lib/database/embedded/messages.ts';

const row = frame('D', Buffer.from('some columns'));
const answer = Buffer.concat([
  frame('1'),
  row,
  row,
  frame('C', cstrings('SELECT 2')),
  readyMessage('T'),
]);

/** Splits the bytes into pieces of this length. */
function pieces(bytes: Buffer, length: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / length) }, (_, n) =>
    bytes.subarray(n * length, (n + 1) * length),
  );
}

describe.each([1, 3, 7, 1000])('an answer in pieces of %i bytes', (length) => {
  it('is passed on without the withheld messages', () => {
    const passed: Buffer[] = [];
    const reader = new AnswerReader('1Z', (output) => passed.push(output));
    for (const piece of pieces(answer, length)) reader.push(piece);
    expect(Buffer.concat(passed)).toEqual(
      Buffer.concat([row, row, frame('C', cstrings('SELECT 2'))]),
    );
  });

  it('is parsed', () => {
    const reader = new AnswerReader('', () => undefined);
    for (const piece of pieces(answer, length)) reader.push(piece);
    expect(reader).toMatchObject({ status: 'T', tags: ['SELECT 2'] });
  });
});

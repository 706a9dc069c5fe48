import { describe, expect, it } from 'vitest';
import { cstrings, frame, readyMessage } from '../../../lib/database/embedded/wire-messages.ts';
import { AnswerReader, FrontendReader } from '../../../lib/database/embedded/wire-readers.ts';

const row = frame('D', Buffer.from('some columns'));
const answer = Buffer.concat([
  frame('1'),
  row,
  row,
  frame('C', cstrings('SELECT 2')),
  readyMessage('T'),
]);

/** The bytes in pieces of this length. */
function pieces(bytes: Buffer, length: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / length) }, (_, n) =>
    bytes.subarray(n * length, (n + 1) * length),
  );
}

describe.each([1, 3, 7, 1000])('an answer in pieces of %i bytes', (length) => {
  it('is passed on but for what is withheld', () => {
    const passed: Buffer[] = [];
    const reader = new AnswerReader('1Z', (output) => passed.push(output));
    for (const piece of pieces(answer, length)) reader.push(piece);
    expect(Buffer.concat(passed)).toEqual(
      Buffer.concat([row, row, frame('C', cstrings('SELECT 2'))]),
    );
  });

  it('is understood', () => {
    const reader = new AnswerReader('', () => undefined);
    for (const piece of pieces(answer, length)) reader.push(piece);
    expect(reader).toMatchObject({ status: 'T', tags: ['SELECT 2'], parsed: 1, closed: 0 });
  });

  it('and a client’s messages are put together', () => {
    const reader = new FrontendReader();
    const types: string[] = [];
    for (const piece of pieces(answer, length)) {
      reader.push(piece);
      for (let next = reader.readMessage(); next !== null; next = reader.readMessage()) {
        types.push(next.type);
      }
    }
    expect(types.join('')).toBe('1DDCZ');
    expect(reader.pending).toBe(0);
  });
});

it('refuses a length that is out of range', () => {
  const reader = new FrontendReader();
  reader.push(Buffer.from('Q\xff\xff\xff\xff', 'latin1'));
  expect(() => reader.readMessage()).toThrow('length');
  const huge = new FrontendReader();
  huge.push(Buffer.from('Q\x04\x00\x00\x05', 'latin1'));
  expect(() => huge.readMessage()).toThrow('length');
});

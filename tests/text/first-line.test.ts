import { PassThrough, Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { MAX_LINE_LENGTH, readFirstLine } from '../../lib/text/first-line.ts';

describe('the first line of stdin', () => {
  it.each([
    [['one\ntwo\n'], 'one'],
    [['one\r\ntwo'], 'one'],
    [['o', 'ne', '\n'], 'one'],
    [['no end'], 'no end'],
    [['\n'], ''],
    [[], ''],
  ])('of %j is %j', async (chunks, line) => {
    expect(await readFirstLine(Readable.from(chunks))).toBe(line);
  });

  it('may contain a character that arrives in two parts', async () => {
    const bytes = Buffer.from('é\n');
    const parts = [bytes.subarray(0, 1), bytes.subarray(1)];
    expect(await readFirstLine(Readable.from(parts, { objectMode: false }))).toBe('é');
  });

  it('is read without waiting for the end of the stream, which is closed', async () => {
    const input = new PassThrough();
    input.write('line\nmore');
    expect(await readFirstLine(input)).toBe('line');
    expect(input.destroyed).toBe(true);
  });

  it('is rejected if it is too long', async () => {
    const input = new PassThrough();
    input.write('x'.repeat(MAX_LINE_LENGTH + 1));
    await expect(readFirstLine(input)).rejects.toMatchObject({ code: 'BAD_REQUEST' });
  });

  it("is given up with the signal's reason while nothing arrives", async () => {
    const stop = new AbortController();
    const line = readFirstLine(new PassThrough(), stop.signal);
    stop.abort(new Error('interrupted'));
    await expect(line).rejects.toThrow('interrupted');
  });
});

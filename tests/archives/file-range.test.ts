import { describe, expect, it } from 'vitest';
import { showContent } from '../../lib/archives/contents/file-content.ts';
import { checkRange, type FileRange, takeRange } from '../../lib/archives/contents/file-range.ts';
import { createRedactor } from '../../lib/security/redaction/redactor.ts';

const facts = { repository: 'team/app', archive: 'team__app.bundle', path: 'a' };

const redactor = createRedactor([]);

async function take(content: string | Buffer, range: FileRange = {}, most = 40_000) {
  checkRange(range);
  const shown = await showContent({ path: 'a', bytes: Buffer.from(content) }, redactor);
  return takeRange(facts, shown, range, most);
}

const text = 'one\ntwo\r\nthrée\n\nfive';

describe('a range of lines', () => {
  it.each<[FileRange, string, [number, number]]>([
    [{ startLine: 2, endLine: 3 }, 'two\r\nthrée\n', [2, 3]],
    [{ startLine: 4 }, '\nfive', [4, 5]],
    [{ endLine: 1 }, 'one\n', [1, 1]],
    [{ startLine: 5, endLine: 99 }, 'five', [5, 5]],
    [{}, text, [1, 5]],
  ])('returns those lines for %j', async (range, content, [start, end]) => {
    const answer = await take(text, range);
    expect(answer).toMatchObject({ content, lines: { start, end, total: 5 }, truncated: false });
    expect(answer).not.toHaveProperty('more');
    expect(answer.bytes).toEqual({
      offset: Buffer.from(text).indexOf(content),
      length: Buffer.byteLength(content),
      total: Buffer.byteLength(text),
    });
  });

  it('is empty for an empty file', async () => {
    const lines = { start: 0, end: 0, total: 0 };
    expect(await take('')).toMatchObject({ content: '', lines, truncated: false });
  });

  it.each([
    [{ startLine: 6 }, 'start_line 6 is past the end: the file as shown has 5 lines'],
    [{ startLine: 3, endLine: 2 }, 'end_line is before start_line'],
    [{ startLine: 3, offset: 2 }, 'use offset and length, or start_line and end_line, not both'],
    [{ endLine: 3, length: 2 }, 'use offset and length, or start_line and end_line, not both'],
  ])('is rejected: %j', async (range, message) => {
    await expect(take(text, range)).rejects.toThrow(message);
  });

  it('is rejected for a file that is not text', async () => {
    await expect(take(Buffer.from([0, 1]), { startLine: 1 })).rejects.toThrow(
      'the file is not text and has no lines: use offset and length',
    );
  });
});

describe('a range of bytes', () => {
  it.each<[FileRange, string, number, [number, number]]>([
    [{ offset: 4, length: 3 }, 'two', 4, [2, 2]],
    [{ offset: 20 }, 'e', 20, [5, 5]],
    [{ length: 5 }, 'one\nt', 0, [1, 2]],
    // The é is bytes 12 and 13.
    [{ offset: 9, length: 4 }, 'thr', 9, [3, 3]],
    [{ offset: 13, length: 2 }, 'ée', 12, [3, 3]],
    [{ offset: 12, length: 1 }, 'é', 12, [3, 3]],
  ])('splits no character for %j', async (range, content, offset, [start, end]) => {
    expect(await take(text, range)).toMatchObject({
      content,
      bytes: { offset, length: Buffer.byteLength(content), total: 21 },
      lines: { start, end, total: 5 },
      truncated: false,
    });
  });

  it('is returned as base64 if the file is not text', async () => {
    const bytes = Buffer.from([0, 1, 2, 3, 0xff]);
    expect(await take(bytes, { offset: 1, length: 3 })).toMatchObject({
      encoding: 'base64',
      content: Buffer.from([1, 2, 3]).toString('base64'),
      bytes: { offset: 1, length: 3, total: 5 },
      lines: null,
    });
  });

  it('is rejected past the end', async () => {
    await expect(take(text, { offset: 22 })).rejects.toThrow(
      'offset 22 is past the end: the file as shown has 21 bytes',
    );
  });
});

describe('a file that does not fit a response', () => {
  const files: [string, string | Buffer][] = [
    ['lines', Array.from({ length: 9_000 }, (_, n) => `line ${n} "größer" 😀\n`).join('')],
    ['one long line', '😀é"\\'.repeat(30_000)],
    ['control characters', '\u0001'.repeat(20_000)],
    ['bytes', Buffer.alloc(100_000, 0xfe)],
  ];

  it.each(files)('is cut: %s', async (_, content) => {
    const answer = await take(content);
    expect(JSON.stringify(answer).length).toBeLessThanOrEqual(40_000);
    expect(JSON.stringify(answer).length).toBeGreaterThan(38_000);
    expect(answer.truncated).toBe(true);
  });

  it.each(files)('can be read part by part, as each part suggests: %s', async (_, content) => {
    const parts: Buffer[] = [];
    for (let range: FileRange | null = {}; range !== null; ) {
      const answer = await take(content, range);
      parts.push(Buffer.from(answer.content, answer.encoding === 'utf-8' ? 'utf8' : 'base64'));
      range = next(answer.more);
    }
    expect(Buffer.concat(parts).equals(Buffer.from(content))).toBe(true);
    expect(parts.length).toBeGreaterThan(1);
  });

  it('is cut after a whole line, and the response says which lines are missing', async () => {
    const answer = await take(files[0]?.[1] ?? '', { startLine: 11, endLine: 5_000 });
    expect(answer.content.endsWith('\n')).toBe(true);
    const last = answer.lines?.end ?? 0;
    expect(answer.more).toBe(
      `lines ${last + 1} to 5000 are missing: call again with start_line ${last + 1} and end_line 5000`,
    );
  });

  it('leaves room for a long path', async () => {
    const shown = await showContent(
      { path: 'a', bytes: Buffer.from('x'.repeat(50_000)) },
      redactor,
    );
    const answer = takeRange({ ...facts, path: '\u0001'.repeat(4_096) }, shown, {}, 40_000);
    expect(JSON.stringify(answer).length).toBeLessThanOrEqual(40_000);
    expect(answer.content.length).toBeGreaterThan(10_000);
  });
});

/** The range that a response suggests for the next call. */
function next(rest: string | undefined): FileRange | null {
  if (rest === undefined) return null;
  const [, what, value] = /call again with (start_line|offset) (\d+)/.exec(rest) ?? [];
  return what === 'offset' ? { offset: Number(value) } : { startLine: Number(value) };
}

it('a secret that a range would split is never returned, not even in part', async () => {
  const token = 'ghp_0123456789abcdefghijABCDEFGHIJ456789';
  const shown = 'before\nkey: [redacted]\nafter';
  const content = `before\nkey: ${token}\nafter`;
  for (let offset = 0; offset <= Buffer.byteLength(shown); offset++) {
    const answer = await take(content, { offset, length: 20 });
    expect(answer.content).toBe(shown.slice(offset, offset + 20));
    expect(answer).toMatchObject({ size: content.length, bytes: { total: shown.length } });
  }
  const binary = await take(Buffer.from(`\0${token}`), { offset: 3, length: 4 });
  expect(Buffer.from(binary.content, 'base64').toString()).toBe('edac');
});

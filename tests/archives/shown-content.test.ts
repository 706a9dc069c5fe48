import { describe, expect, it } from 'vitest';
import { showContent } from '../../lib/archives/contents/file-content.ts';
import { createRedactor } from '../../lib/security/redaction/redactor.ts';

const secret = 'a-configured-secret';
const token = ['gl', 'pat-', 'aB3dE5gH7jK9mN1pQ3sT'].join('');
const redactor = createRedactor([secret]);
const show = (bytes: Buffer) => showContent({ path: 'a', bytes }, redactor);

const text = `user=me\npassword=${token}\nown=${secret}\nend\n`;
const shownText = 'user=me\npassword=[redacted]\nown=[redacted]\nend\n';
const bigEndian = (it: string) => Buffer.from(it, 'utf16le').swap16();

describe('a file with secrets', () => {
  it.each<[string, (text: string) => Buffer]>([
    ['UTF-8', (it) => Buffer.from(it)],
    ['UTF-16 with a byte order mark', (it) => Buffer.from(`\ufeff${it}`, 'utf16le')],
    ['UTF-16 without a byte order mark', (it) => Buffer.from(it, 'utf16le')],
    ['big-endian UTF-16 with a byte order mark', (it) => bigEndian(`\ufeff${it}`)],
    ['big-endian UTF-16 without a byte order mark', bigEndian],
  ])('is shown without them in %s, with a notice', async (_, encode) => {
    const shown = await show(encode(text));
    expect(shown.bytes.equals(encode(shownText))).toBe(true);
    expect(shown.size).toBe(encode(text).length);
    expect(shown.notes).toEqual({
      redacted: 2,
      notice: expect.stringMatching(/^2 secrets were replaced by \[redacted\]: do not restore/),
    });
  });

  it.each<[string, Buffer]>([
    ['with one byte per character', Buffer.from(token)],
    ['with two bytes per character', Buffer.from(token, 'utf16le')],
    ['with two bytes per character, big-endian', bigEndian(token)],
    ['in base64', Buffer.from(Buffer.from(`xy${secret}z`).toString('base64'))],
  ])('is shown without them if they are written %s among other bytes', async (_, written) => {
    const before = Buffer.from(Array.from({ length: 301 }, (_, n) => (n * n * 31 + 137) & 0xff));
    const shown = await show(Buffer.concat([before, written, Buffer.from([0xff, 0xd8, 0xff])]));
    expect(shown.encoding).toBe('base64');
    expect(shown.bytes.includes(written.subarray(8, 24))).toBe(false);
    expect(shown.bytes.includes('[redacted]')).toBe(true);
    expect(shown.bytes.subarray(0, before.length).equals(before)).toBe(true);
    expect(shown.notes.redacted).toBe(1);
  });

  it('has a notice in the singular for one secret', async () => {
    const { notes } = await show(Buffer.from(`token=${token}`));
    expect(notes.notice).toContain('1 secret was replaced');
  });
});

it('a file with hidden text is shown without it, with a notice', async () => {
  const { bytes, notes } = await show(Buffer.from('if (a\u202e b) {}\n'));
  expect(bytes.toString()).toBe('if (a b) {}\n');
  expect(notes).toEqual({ notice: expect.stringContaining('1 invisible or direction-changing') });
});

it.each([
  ['text', Buffer.from('größer\n')],
  ['UTF-16', Buffer.from('\ufeffgrößer\n', 'utf16le')],
  ['bytes', Buffer.from([0, 1, 2, 0xff, 0xfe, 0x80])],
  ['nothing', Buffer.alloc(0)],
])('a file of %s without secrets is shown byte for byte, without a notice', async (_, bytes) => {
  const shown = await show(bytes);
  expect(shown.bytes.equals(bytes)).toBe(true);
  expect(shown.notes).toEqual({});
});

it('a long file does not block the event loop', async () => {
  let rounds = 0;
  let isDone = false;
  const count = () => {
    rounds += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const shown = await show(Buffer.from(`${'a log line\n'.repeat(100_000)}${token}\n`));
  isDone = true;
  expect(shown.notes.redacted).toBe(1);
  expect(rounds).toBeGreaterThan(5);
});

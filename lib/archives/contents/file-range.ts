import { AppError } from '../../errors.ts';
import type { ExtractedFile } from '../base/results.ts';
import type { ShownContent } from './file-content.ts';

/**
 * The requested part of a file: bytes or lines, not both. Bytes count from 0, lines from 1; `endLine` is
 * inclusive. Both refer to the file as shown.
 */
export interface FileRange {
  offset?: number | undefined;
  length?: number | undefined;
  startLine?: number | undefined;
  endLine?: number | undefined;
}

const NEWLINE = 0x0a;
/** Reserved for fields that are added later, such as the number of removed secrets. */
const SPARE_CHARACTERS = 500;

/** Throws BAD_REQUEST for an invalid range. */
export function checkRange({ offset, length, startLine, endLine }: FileRange): void {
  const hasBytes = offset !== undefined || length !== undefined;
  if (hasBytes && (startLine !== undefined || endLine !== undefined)) {
    throw refusal('use offset and length, or start_line and end_line, not both');
  }
  if (endLine !== undefined && endLine < (startLine ?? 1)) {
    throw refusal('end_line is before start_line');
  }
}

/**
 * Returns the requested part of a file, as much as fits a response of `maxCharacters` as JSON: whole lines of
 * a text, unless bytes were requested or a single line is too long. Never splits a character. Throws
 * BAD_REQUEST for a range past the end of the file.
 */
export function takeRange(
  facts: Pick<ExtractedFile, 'repository' | 'archive' | 'path'>,
  shown: ShownContent,
  range: FileRange,
  maxCharacters: number,
): ExtractedFile {
  const { bytes, encoding, size } = shown;
  const isText = encoding === 'utf-8';
  const asked = isText ? findText(bytes, range) : findBytes(bytes, range);
  const describe = (end: number): ExtractedFile => {
    const part = bytes.subarray(asked.start, end);
    const rest = describeRest(bytes, asked, end);
    return {
      ...facts,
      size,
      encoding,
      bytes: { offset: asked.start, length: part.length, total: bytes.length },
      lines: isText ? countLines(bytes, asked.start, end) : null,
      truncated: rest !== null,
      ...(rest === null ? {} : { more: rest }),
      content: part.toString(isText ? 'utf8' : 'base64'),
    };
  };
  // The response without content, with numbers and `more` at their longest.
  const without = JSON.stringify({ ...describe(asked.start), content: '' }).length;
  const room = Math.max(0, maxCharacters - without - SPARE_CHARACTERS);
  if (!isText) return describe(Math.min(asked.end, asked.start + Math.floor(room / 4) * 3));
  return describe(fitText(bytes, asked, room));
}

interface Span {
  start: number;
  end: number;
  /** Whether whole lines were requested. */
  byLine: boolean;
}

function findBytes(bytes: Buffer, range: FileRange): Span {
  const { offset = 0, length = bytes.length, startLine, endLine } = range;
  if (startLine !== undefined || endLine !== undefined) {
    throw refusal('the file is not text and has no lines: use offset and length');
  }
  if (offset > bytes.length) throw pastEnd('offset', offset, `${bytes.length} bytes`);
  return { start: offset, end: Math.min(bytes.length, offset + length), byLine: false };
}

function findText(bytes: Buffer, range: FileRange): Span {
  const { offset, length, startLine = 1, endLine = Number.POSITIVE_INFINITY } = range;
  if (offset !== undefined || length !== undefined) {
    const { start, end } = findBytes(bytes, range);
    const from = startOfCharacter(bytes, start);
    const to = startOfCharacter(bytes, end);
    // Part of one character: return the whole character.
    const last = to === from && end > start ? endOfCharacter(bytes, from) : to;
    return { start: from, end: last, byLine: false };
  }
  const start = findLine(bytes, startLine);
  if (start === null) {
    const { total } = countLines(bytes, 0, bytes.length);
    throw pastEnd('start_line', startLine, `${total} lines`);
  }
  return { start, end: findLine(bytes, endLine + 1) ?? bytes.length, byLine: true };
}

/** Where a line starts; null if there is none. An empty text has a first line. */
function findLine(bytes: Buffer, wanted: number): number | null {
  let line = 1;
  if (wanted === 1) return 0;
  // Not indexOf, which is slow for a file of only newlines.
  for (let at = 0; at < bytes.length - 1; at++) {
    if (bytes[at] === NEWLINE && ++line === wanted) return at + 1;
  }
  return null;
}

/** The end of the longest text that takes at most `room` characters as JSON. */
function fitText(bytes: Buffer, { start, end, byLine }: Span, room: number): number {
  // A byte takes at least a third of a character, so no more can fit.
  const most = startOfCharacter(bytes, Math.min(end, start + room * 3));
  let fitting = start;
  let left = room;
  for (const character of bytes.toString('utf8', start, most)) {
    left -= JSON.stringify(character).length - 2;
    if (left < 0) break;
    fitting += Buffer.byteLength(character);
  }
  if (!byLine || fitting === end || fitting === start) return fitting;
  const line = bytes.lastIndexOf(NEWLINE, fitting - 1) + 1;
  return line > start ? line : fitting;
}

/** What is missing from the response and how to get it; null if nothing is. */
function describeRest(bytes: Buffer, asked: Span, end: number): string | null {
  const missing = asked.end - end;
  if (missing <= 0) return null;
  const isLast = asked.end === bytes.length;
  if (asked.byLine && end > asked.start && bytes[end - 1] === NEWLINE) {
    const next = countLines(bytes, asked.start, end).end + 1;
    const last = countLines(bytes, asked.start, asked.end).end;
    const endLine = isLast ? '' : ` and end_line ${last}`;
    return `lines ${next} to ${last} are missing: call again with start_line ${next}${endLine}`;
  }
  const length = isLast ? '' : ` and length ${missing}`;
  return `${missing} bytes are missing: call again with offset ${end}${length}`;
}

/** The first and last line of a span. A newline belongs to the line that it ends. */
function countLines(bytes: Buffer, start: number, end: number) {
  const before = countNewlines(bytes, 0, start);
  const within = countNewlines(bytes, start, Math.max(start, end - 1));
  const after = countNewlines(bytes, Math.max(start, end - 1), bytes.length);
  const isOpen = bytes.length > 0 && bytes[bytes.length - 1] !== NEWLINE;
  const total = before + within + after + (isOpen ? 1 : 0);
  const first = Math.min(before + 1, total);
  return { start: first, end: Math.min(first + within, total), total };
}

function countNewlines(bytes: Buffer, start: number, end: number): number {
  let count = 0;
  for (let at = start; at < end; at++) if (bytes[at] === NEWLINE) count++;
  return count;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

function startOfCharacter(bytes: Buffer, at: number): number {
  let start = at;
  while (start > 0 && isContinuation(bytes[start])) start--;
  return start;
}

function endOfCharacter(bytes: Buffer, at: number): number {
  let end = at + 1;
  while (isContinuation(bytes[end])) end++;
  return end;
}

function pastEnd(what: string, value: number, has: string): AppError {
  return refusal(`${what} ${value} is past the end: the file as shown has ${has}`);
}

function refusal(message: string): AppError {
  return new AppError('BAD_REQUEST', message);
}

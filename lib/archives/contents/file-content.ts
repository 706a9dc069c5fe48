import { isUtf8 } from 'node:buffer';
import { posix, win32 } from 'node:path';
import { AppError } from '../../errors.ts';
import type { Redactor } from '../../security/redaction/redactor.ts';
import { cleanText } from '../../text/clean-text.ts';
import { removeDeceptiveCharacters } from '../../text/hidden-text.ts';
import { counted } from '../../text/units.ts';
import type { EntryType } from '../base/results.ts';

/** The length of a path that is suggested. */
const MAX_NEAR_LENGTH = 255;

/** A file of an archive. */
export interface FileContent {
  path: string;
  bytes: Buffer;
}

/** A whole file as shown, without secrets. */
export interface ShownContent {
  /** Bytes of the file in the archive. */
  size: number;
  encoding: 'utf-8' | 'base64';
  bytes: Buffer;
  /** What was changed for display. */
  notes: { redacted?: number; notice?: string };
}

/**
 * Removes secrets from a whole file, before a range could split one and before base64 hides them. Yields to
 * the event loop regularly. Only valid UTF-8 counts as text; anything else is returned as base64.
 */
export async function showContent(
  { bytes }: FileContent,
  redactor: Pick<Redactor, 'countedInSteps'>,
): Promise<ShownContent> {
  const form = findForm(bytes);
  const text = form.decode(bytes);
  const plain = form.isText ? removeDeceptiveCharacters(text) : text;
  const { value, redacted } = await redactor.countedInSteps(plain);
  const isWhole = value === text;
  return {
    size: bytes.length,
    encoding: form.encoding,
    bytes: isWhole ? bytes : form.encode(value),
    notes: isWhole ? {} : describeLosses(redacted, text.length - plain.length),
  };
}

/** How to decode a file to a text in which secrets can be found, and to encode it again. */
interface Form {
  encoding: 'utf-8' | 'base64';
  /** Whether it is real text, not bytes treated as text. */
  isText: boolean;
  decode(bytes: Buffer): string;
  encode(text: string): Buffer;
}

const utf8: Form = {
  encoding: 'utf-8',
  isText: true,
  decode: (bytes) => bytes.toString('utf8'),
  encode: (text) => Buffer.from(text),
};
const utf16: Form = {
  encoding: 'base64',
  isText: true,
  decode: (bytes) => bytes.toString('utf16le'),
  encode: (text) => Buffer.from(text, 'utf16le'),
};
const utf16BigEndian: Form = {
  encoding: 'base64',
  isText: true,
  decode: (bytes) => Buffer.from(bytes).swap16().toString('utf16le'),
  encode: (text) => Buffer.from(text, 'utf16le').swap16(),
};
/** One character per byte, so that the other bytes stay unchanged. */
const binary: Form = {
  encoding: 'base64',
  isText: false,
  decode: (bytes) => bytes.toString('latin1'),
  encode: (text) => Buffer.from(text, 'latin1'),
};

/** How much of a file is examined to tell UTF-16 from other bytes. */
const SAMPLE_BYTES = 4_096;

function findForm(bytes: Buffer): Form {
  // NUL is valid UTF-8, but does not occur in text.
  if (isUtf8(bytes) && !bytes.includes(0)) return utf8;
  if (bytes.length % 2 !== 0) return binary;
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  const zeros = [0, 0];
  for (const [at, byte] of sample.entries())
    if (byte === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1;
  const [first = 0, second = 0] = zeros;
  // Without a byte order mark: most UTF-16 characters have one zero byte.
  const many = sample.length * 0.4;
  if (sample.readUInt16BE() === 0xfffe || (second > many && first === 0)) return utf16;
  if (sample.readUInt16BE() === 0xfeff || (first > many && second === 0)) return utf16BigEndian;
  return binary;
}

function describeLosses(redacted: number, removed: number): ShownContent['notes'] {
  const losses = [
    redacted === 0
      ? []
      : `${counted(redacted, 'secret was', 'secrets were')} replaced by [redacted]`,
    removed === 0 ? [] : `${removed} invisible or direction-changing characters were removed`,
  ].flat();
  const notice = `${losses.join(', and ')}: do not restore the file from this response; extract it from the archive with git clone or tar`;
  return redacted === 0 ? { notice } : { redacted, notice };
}

/** Throws BAD_REQUEST for an invalid path, with the name of its parameter. */
export function checkFilePath(path: string, parameter: string): void {
  const problems: [boolean, string][] = [
    [path === '', 'is empty'],
    [path.includes('..'), 'contains ..'],
    [posix.isAbsolute(path) || win32.isAbsolute(path), 'is absolute'],
    [path.includes('\\'), 'contains a backslash'],
    [path.includes('\0'), 'contains NUL'],
  ];
  const problem = problems.find(([isTrue]) => isTrue);
  if (problem)
    throw new AppError('BAD_REQUEST', `${parameter} ${problem[1]}, which is not allowed`);
}

/** The archive has no file with a path. The message names those that resemble it. */
export class NoSuchFile extends AppError {
  readonly path: string;
  readonly near: readonly string[];

  constructor(path: string, near: readonly string[]) {
    const names = near.map((one) => JSON.stringify(cleanText(one, MAX_NEAR_LENGTH)));
    const meant = names.length === 0 ? '' : `; did you mean ${names.join(' or ')}?`;
    super('NOT_FOUND', `the archive has no file ${JSON.stringify(path)}${meant}`);
    this.path = path;
    this.near = near;
  }
}

const nouns: Record<EntryType, string> = {
  file: 'a file',
  directory: 'a directory',
  symlink: 'a symbolic link, which is not followed',
  link: 'a hard link, which is not followed',
  submodule: 'a submodule, whose files are not in the archive',
  'character-device': 'a device',
  'block-device': 'a device',
  fifo: 'a named pipe',
  unknown: 'not a file',
};

export function notAFile(path: string, type: EntryType): AppError {
  return new AppError('BAD_REQUEST', `${JSON.stringify(path)} is ${nouns[type]}`);
}

export function tooLarge(path: string, size: number, max: number): AppError {
  return new AppError(
    'PAYLOAD_TOO_LARGE',
    `${JSON.stringify(path)} has ${size} bytes; at most ${max} can be extracted`,
  );
}

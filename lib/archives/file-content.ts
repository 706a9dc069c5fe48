import { isUtf8 } from 'node:buffer';
import { posix, win32 } from 'node:path';
import { AppError } from '../platform/errors.ts';
import type { EntryType, ExtractedFile } from './answers.ts';

/** A file of an archive. */
export interface FileContent {
  path: string;
  bytes: Buffer;
}

/**
 * As an answer carries it: text as it is, anything else as base64 (decisions 6), in which nobody would find
 * a secret any more: it is taken out before, by `redact`.
 */
export function encodeContent(
  { path, bytes }: FileContent,
  redact: (text: string) => string,
): Pick<ExtractedFile, 'path' | 'size' | 'encoding' | 'content'> {
  const size = bytes.length;
  // NUL is valid UTF-8, but no text has it.
  if (isUtf8(bytes) && !bytes.includes(0)) {
    return { path, size, encoding: 'utf-8', content: bytes.toString('utf8') };
  }
  // A character a byte, so that the other bytes stay what they are.
  const shown = redact(bytes.toString('latin1'));
  return {
    path,
    size,
    encoding: 'base64',
    content: Buffer.from(shown, 'latin1').toString('base64'),
  };
}

/** Throws BAD_REQUEST for a file_path that is refused (spec 3, Tool behaviour 8; decisions 6). */
export function checkFilePath(path: string): void {
  const faults: [boolean, string][] = [
    [path === '', 'is empty'],
    [path.includes('..'), 'contains ..'],
    [posix.isAbsolute(path) || win32.isAbsolute(path), 'is absolute'],
    [path.includes('\\'), 'contains a backslash'],
    [path.includes('\0'), 'contains NUL'],
  ];
  const fault = faults.find(([isTrue]) => isTrue);
  if (fault) throw new AppError('BAD_REQUEST', `file_path ${fault[1]}: it is refused`);
}

export function notFound(path: string): AppError {
  return new AppError('NOT_FOUND', `the archive has no file ${JSON.stringify(path)}`);
}

const nouns: Record<EntryType, string> = {
  file: 'a file',
  directory: 'a directory',
  symlink: 'a symbolic link, which is not followed',
  link: 'a hard link, which is not followed',
  submodule: 'a submodule, of which the archive holds no files',
  'character-device': 'a device',
  'block-device': 'a device',
  fifo: 'a named pipe',
  unknown: 'not a file',
};

export function notAFile(path: string, type: EntryType): AppError {
  return new AppError('BAD_REQUEST', `${JSON.stringify(path)} is ${nouns[type]}`);
}

export function tooLarge(path: string, size: number, most: number): AppError {
  return new AppError(
    'PAYLOAD_TOO_LARGE',
    `${JSON.stringify(path)} has ${size} bytes; at most ${most} can be extracted`,
  );
}

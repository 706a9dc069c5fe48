import { redact } from '../platform/redaction.ts';

/** Most characters of a text from outside that are stored or shown. */
export const TEXT_MAX_LENGTH = 2_000;

/**
 * Makes a text from outside (git's messages, commit messages, file names) fit to be stored and shown on
 * a terminal: one line, no control or bidirectional characters, no credential, of bounded length.
 */
export function cleanText(text: string, maxLength = TEXT_MAX_LENGTH): string {
  // Before redaction, so that a character that is removed cannot hide a credential.
  const line = text
    .replace(/\s*[\r\n]+\s*/g, ' ')
    .replace(/[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '')
    .trim();
  const shown = redact(line);
  const cut = shown.length > maxLength ? `${shown.slice(0, maxLength - 1)}…` : shown;
  return cut.toWellFormed();
}

/** `1 repository`, `2 repositories`. */
export function countRepositories(count: number): string {
  return `${count} ${count === 1 ? 'repository' : 'repositories'}`;
}

/** A size for people: `812 B`, `3.4 MiB`. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let size = bytes;
  let unit = 0;
  while (size >= 1_024 && unit < units.length - 1) {
    size /= 1_024;
    unit++;
  }
  return `${unit === 0 ? size : size.toFixed(1)} ${units[unit]}`;
}

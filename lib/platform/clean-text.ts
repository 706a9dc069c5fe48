import { redact } from './redaction.ts';

/** Most characters of a text from outside that are stored or shown. */
export const TEXT_MAX_LENGTH = 2_000;

/** Most characters of a text that are looked at. git's error output is at most 1 MiB. */
const READ_MAX_LENGTH = 2 ** 18;

/**
 * Makes a text from outside (git's messages, commit messages, file names) fit to be stored and shown on
 * a terminal: one line, no control or bidirectional characters, no credential, of bounded length. Takes
 * time in proportion to the text, also to a hostile one.
 */
export function cleanText(text: string, maxLength = TEXT_MAX_LENGTH): string {
  const start = text.trimStart();
  const isCut = start.length > READ_MAX_LENGTH;
  // Before redaction, so that a character that is removed cannot hide a credential.
  const line = start
    .slice(0, READ_MAX_LENGTH)
    .replace(/\s+/g, (gap) => (/[\r\n\u2028\u2029]/.test(gap) ? ' ' : gap))
    .replace(/[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '');
  // Redaction would not know half a credential, so that the word in which the text was cut goes too.
  const whole = isCut ? line.slice(0, line.lastIndexOf(' ') + 1) : line;
  const shown = redact(whole.trim());
  const end = isCut || shown.length > maxLength ? '…' : '';
  return `${shown.slice(0, maxLength - end.length)}${end}`.toWellFormed();
}

import { redact } from '../security/redaction/redactor.ts';
import { removeDeceptiveCharacters } from './hidden-text.ts';

/** The maximum length of untrusted text that is stored or shown. */
export const MAX_TEXT_LENGTH = 2_000;

/** Only this much of a text is processed; git's error output can reach 1 MiB. */
const MAX_READ_LENGTH = 2 ** 18;

/**
 * Sanitizes untrusted text (git output, commit messages, file names) for storage and terminals: one line,
 * without control or bidirectional characters or credentials, of bounded length. Linear time, even for
 * hostile input.
 */
export function cleanText(text: string, maxLength = MAX_TEXT_LENGTH): string {
  const start = text.trimStart();
  const isCut = start.length > MAX_READ_LENGTH;
  // Before redaction, so that invisible characters cannot hide a credential.
  const line = removeDeceptiveCharacters(start.slice(0, MAX_READ_LENGTH))
    .replace(/\s+/g, (gap) => (/[\r\n\u2028\u2029]/.test(gap) ? ' ' : gap))
    .replace(/\p{Cc}/gu, '');
  // Drop the truncated last word: redaction might not recognize half a credential.
  const whole = isCut ? line.slice(0, line.lastIndexOf(' ') + 1) : line;
  const shown = redact(whole.trim());
  const end = isCut || shown.length > maxLength ? '…' : '';
  return `${shown.slice(0, maxLength - end.length)}${end}`.toWellFormed();
}

/** The longest name that is shown: that of a repository, or of a file in the archive folder. */
const MAX_NAME_LENGTH = 600;

/** Like `cleanText`, for a name. */
export function cleanName(name: string): string {
  return cleanText(name, MAX_NAME_LENGTH);
}

import { AppError } from '../../errors.ts';
import type { Redactor } from '../../security/redaction/redactor.ts';
import { cleanText } from '../../text/clean-text.ts';
import { removeDeceptiveCharacters } from '../../text/hidden-text.ts';

/** Maximum characters of a subject. */
export const MAX_SUBJECT_CHARS = 200;
/** Maximum characters of markdown. */
export const MAX_MARKDOWN_CHARS = 100_000;

/** Cleans a subject: one line without secrets. Throws VALIDATION_ERROR if nothing visible is left. */
export function cleanSubject(subject: string, redactor: Redactor): string {
  return requireText('subject', redactor.text(cleanText(subject, MAX_SUBJECT_CHARS)));
}

/**
 * Removes secrets, and characters that hide or reorder text, from markdown that somebody wrote. Throws
 * VALIDATION_ERROR if nothing visible is left.
 */
export function cleanMarkdown(markdown: string, redactor: Redactor): string {
  // Before redaction, so that no invisible character hides a credential.
  const shown = removeDeceptiveCharacters(markdown)
    .replace(/\r\n?/g, '\n')
    .replace(/(?![\n\t])\p{Cc}/gu, '');
  return requireText('content_markdown', redactor.text(shown));
}

/** The mail service rejects a mail without a subject or text. */
function requireText(path: string, text: string): string {
  if (/[^\s\p{Cc}\p{Cf}]/u.test(text)) return text;
  const message = 'must contain a visible character';
  throw new AppError('VALIDATION_ERROR', `${path} ${message}`, { details: [{ path, message }] });
}

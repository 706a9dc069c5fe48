import { AppError } from '../../errors.ts';
import type { Redactor } from '../../security/redaction/redactor.ts';
import { cleanText } from '../../text/clean-text.ts';
import { removeDeceptiveCharacters } from '../../text/hidden-text.ts';

/** Longest subject. */
export const SUBJECT_MAX_LENGTH = 200;
/** Longest markdown that is taken. */
export const MARKDOWN_MAX_LENGTH = 100_000;

/**
 * A subject as it may be mailed: one line without secrets. Throws VALIDATION_ERROR when nothing of it can
 * be seen.
 */
export function cleanSubject(subject: string, redactor: Redactor): string {
  return requireText('subject', redactor.text(cleanText(subject, SUBJECT_MAX_LENGTH)));
}

/**
 * Markdown that somebody wrote, without secrets and without characters that hide or reorder text. Throws
 * VALIDATION_ERROR when nothing of it can be seen.
 */
export function cleanMarkdown(markdown: string, redactor: Redactor): string {
  // Before redaction, so that a character that is removed cannot hide a credential.
  const shown = removeDeceptiveCharacters(markdown)
    .replace(/\r\n?/g, '\n')
    .replace(/(?![\n\t])\p{Cc}/gu, '');
  return requireText('content_markdown', redactor.text(shown));
}

/** A mail service refuses a mail without a subject or a text. */
function requireText(path: string, text: string): string {
  if (/[^\s\p{Cc}\p{Cf}]/u.test(text)) return text;
  const message = 'must hold a character that can be seen';
  throw new AppError('VALIDATION_ERROR', `${path} ${message}`, { details: [{ path, message }] });
}

/**
 * Text that others wrote (names, errors, logs) as one code span of at most so many characters: nothing in
 * it is markdown, a link or a tag. Empty text is a dash.
 */
export function quote(text: string, maxLength = 300): string {
  const line = cleanText(text, maxLength);
  if (line === '') return '–';
  const runs = [...line.matchAll(/`+/g)].map(([run]) => run.length);
  const fence = '`'.repeat(Math.max(0, ...runs) + 1);
  const gap = /^[` ]|[` ]$/.test(line) ? ' ' : '';
  return `${fence}${gap}${line}${gap}${fence}`;
}

import { cleanText } from '../../platform/clean-text.ts';
import type { Redactor } from '../../platform/redaction.ts';

/** Longest subject. */
export const SUBJECT_MAX_LENGTH = 200;
/** Longest markdown that is taken. */
export const MARKDOWN_MAX_LENGTH = 100_000;

/** A subject as it may be mailed: one line without secrets. */
export function cleanSubject(subject: string, redactor: Redactor): string {
  return cleanText(redactor.text(subject), SUBJECT_MAX_LENGTH);
}

/** Markdown that somebody wrote, without secrets and without characters that hide or reorder text. */
export function cleanMarkdown(markdown: string, redactor: Redactor): string {
  // Before redaction, so that a character that is removed cannot hide a credential.
  const shown = markdown
    .replace(/\r\n?/g, '\n')
    .replace(/(?![\n\t])\p{Cc}|[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '');
  return redactor.text(shown);
}

/**
 * Text that others wrote (names, errors, logs) as one code span of at most so many characters: nothing in
 * it is markdown, a link or a tag, also in a table. Empty text is a dash.
 */
export function quote(text: string, maxLength = 300): string {
  const line = cleanText(text, maxLength)
    // A table would read `\|` as a bar that is part of the text, and drop the backslash.
    .replace(/\\(?=\|)/g, '\\ ')
    .replaceAll('|', '\\|');
  if (line === '') return '–';
  const runs = [...line.matchAll(/`+/g)].map(([run]) => run.length);
  const fence = '`'.repeat(Math.max(0, ...runs) + 1);
  const gap = /^[` ]|[` ]$/.test(line) ? ' ' : '';
  return `${fence}${gap}${line}${gap}${fence}`;
}

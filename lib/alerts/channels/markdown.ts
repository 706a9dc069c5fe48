import { withoutLinks } from './compose.ts';

/** Text within a line of Markdown. What is escaped in an address would show there, so it is kept from being a link. */
export function escapeMarkdown(text: string): string {
  return withoutLinks(text.replace(/[\\`*_~|[\]()]/g, '\\$&'));
}

/** A whole line: also what makes a heading, a list or a rule at its start. */
export function escapeMarkdownLine(text: string): string {
  return escapeMarkdown(text)
    .replace(/^(?=[-+#])|(?<=^\d{1,9})(?=\.)/, '\\')
    .replace(/^(?==)/, '\u200b');
}

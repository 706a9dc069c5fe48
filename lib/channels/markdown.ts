import { withoutLinks } from './compose.ts';

/**
 * Escapes text within a line of Markdown. Escapes would show in addresses, so these are kept from being links instead.
 */
export function escapeMarkdown(text: string): string {
  return withoutLinks(text.replace(/[\\`*_~|[\]()]/g, '\\$&'));
}

/** Escapes a whole line, including what would start a heading, a list or a rule. */
export function escapeMarkdownLine(text: string): string {
  return escapeMarkdown(text)
    .replace(/^(?=[-+#])|(?<=^\d{1,9})(?=\.)/, '\\')
    .replace(/^(?==)/, '\u200b');
}

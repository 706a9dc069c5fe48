import type { AlertMessage } from './channel.ts';
import { joinFitting, markOf, toPlain, withoutMentions } from './compose.ts';
import { escapeMarkdown, escapeMarkdownLine } from './markdown.ts';

const MAX_CONTENT = 2_000;
/** Discord's flag for no previews: untrusted text may contain links. */
const SUPPRESS_EMBEDS = 4;

/** The body of a message for Discord's webhooks. */
export function composeDiscord(message: AlertMessage): object {
  const plain = toPlain(message);
  const title = `${markOf(message)} **${escapeText(plain.title)}**`;
  const link = plain.link === null ? '' : `<${plain.link}>`;
  const room = MAX_CONTENT - title.length - link.length - 2;
  const lines = joinFitting(plain, room, { write: escapeLine });
  return {
    content: [title, lines, link].filter((part) => part !== '').join('\n'),
    allowed_mentions: { parse: [] },
    flags: SUPPRESS_EMBEDS,
  };
}

const escapeText = (text: string) => finish(escapeMarkdown(text));
const escapeLine = (text: string) => finish(escapeMarkdownLine(text));

function finish(text: string): string {
  return withoutMentions(text.replace(/[<>]/g, '\\$&'));
}

import type { AlertMessage } from './channel.ts';
import { joinFitting, markOf, toPlain, withoutMentions } from './compose.ts';

/** Of the text of a block. */
const MAX_BLOCK = 3_000;

/** The body of a message for Slack's incoming webhooks, and for programs like it. */
export function composeSlack(message: AlertMessage): object {
  const plain = toPlain(message);
  const title = `*${markOf(message)} ${escapeText(plain.title)}*`;
  const lines = joinFitting(plain, MAX_BLOCK, { write: escapeText });
  const link = plain.link === null ? '' : `<${escapeMarkup(plain.link)}|Open Backup Observatory>`;
  const parts = [title, lines, link].filter((part) => part !== '');
  return {
    // For notifications, and for programs without blocks.
    text: parts.join('\n'),
    blocks: parts.map((text) => ({
      type: 'section',
      // Names of channels and people in it stay text.
      text: { type: 'mrkdwn', text, verbatim: true },
    })),
    unfurl_links: false,
    unfurl_media: false,
  };
}

function escapeText(text: string): string {
  return withoutMentions(escapeMarkup(text));
}

/** Slack has no other escapes. */
function escapeMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

import type { AlertMessage } from './channel.ts';
import { joinFitting, markOf, toPlain, withoutMentions } from './compose.ts';
import { escapeMarkdown, escapeMarkdownLine } from './markdown.ts';

/** Maximum length of the text of a block. */
const MAX_BLOCK = 3_000;
const MAX_HEADER = 150;
/** Slack's main host. Its other hosts count as compatible programs, so their notifications show escapes. */
const HOST = 'hooks.slack.com';

/**
 * The body of a message for Slack's incoming webhooks at `url`, and for compatible programs. Slack shows the blocks as
 * plain text, and uses `text` for notifications. Compatible programs ignore the blocks, and read `text` as Markdown.
 */
export function composeSlack({ url }: { url: string }, message: AlertMessage): object {
  const plain = toPlain(message);
  const title = escapeEntities(`${markOf(message)} ${plain.title}`);
  const lines = joinFitting(plain, MAX_BLOCK, { write: escapeEntities });
  const link = plain.link === null ? '' : `<${escapeEntities(plain.link)}|Open Backup Observatory>`;
  const isSlack = new URL(url).host === HOST;
  return {
    text: isSlack ? join([title, lines]) : composeMarkdown(message, link),
    blocks: [
      plainBlock(title.length <= MAX_HEADER ? 'header' : 'section', title),
      ...(lines === '' ? [] : [plainBlock('section', lines)]),
      ...(link === '' ? [] : [{ type: 'section', text: { type: 'mrkdwn', text: link } }]),
    ],
    // Applies to `text`, which Slack uses for notifications.
    mrkdwn: !isSlack,
    unfurl_links: false,
    unfurl_media: false,
  };
}

const join = (parts: readonly string[]) => parts.filter((part) => part !== '').join('\n');

function plainBlock(type: 'header' | 'section', text: string): object {
  return { type, text: { type: 'plain_text', text, emoji: false } };
}

function composeMarkdown(message: AlertMessage, link: string): string {
  const plain = toPlain(message);
  const clean = (text: string) => withoutShortcodes(withoutMentions(escapeEntities(text)));
  const title = `**${markOf(message)} ${escapeMarkdown(clean(plain.title))}**`;
  const write = (line: string) => escapeMarkdownLine(clean(line));
  return join([title, joinFitting(plain, MAX_BLOCK, { write }), link]);
}

/** Also escapes mentions and links. Slack has no other escapes. */
function escapeEntities(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Keeps `:fire:` from becoming an emoji. */
function withoutShortcodes(text: string): string {
  return text.replace(/:(?=[\w+-]+:)/g, ':\u200b');
}

import { fault, parseServer, readParameters, type WrittenAddress } from './address.ts';
import { type AlertMessage, defineChannel } from './channel.ts';
import { joinFitting, markOf, toPlain, withoutMentions } from './compose.ts';
import { escapeMarkdown, escapeMarkdownLine } from './markdown.ts';

/** Maximum length of the text of a block. */
const MAX_BLOCK = 3_000;
const MAX_HEADER = 150;
/** Slack's main host. Its other hosts count as compatible programs, so their notifications show escapes. */
const HOST = 'hooks.slack.com';

/** Slack's incoming webhooks, and those of compatible programs. */
export const slack = defineChannel({
  kind: 'slack',
  label: 'Slack',
  schemes: ['slack'],
  example: 'https://hooks.slack.com/services/…',
  recognizes: /^https:\/\/hooks\.slack\.com\/services\//i,
  parse,
  request: (address, message) => ({ service: 'Slack', body: compose(address, message) }),
});

/** `slack://T…/B…/…`, or `slack+` and the URL that Slack or a compatible service shows. */
function parse(written: WrittenAddress) {
  if (written.transport !== null) {
    const { url, path, authorization } = parseServer(written);
    readParameters(url, []);
    const needed = url.host === HOST ? 4 : 1;
    if (path.length < needed || authorization !== null) throw fault('is not a webhook address');
    return toHook(url);
  }
  const [, ...tokens] =
    /^(T\w{3,40})\/(B\w{3,40})\/(\w{10,100})\/?$/.exec(written.rest) ?? missing();
  const url = new URL(`https://${HOST}/services/${tokens.join('/')}`);
  return toHook(url);
}

function toHook(url: URL) {
  const isPublicService = url.host === HOST;
  return { kind: 'slack' as const, url: url.href, isPublicService, place: url.host };
}

function missing(): never {
  throw fault('must have three tokens, as in slack://T…/B…/…');
}

/**
 * The body of a message for Slack's incoming webhooks at `url`, and for compatible programs. Slack shows the blocks as
 * plain text, and uses `text` for notifications. Compatible programs ignore the blocks, and read `text` as Markdown.
 */
function compose({ url }: { url: string }, message: AlertMessage): object {
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

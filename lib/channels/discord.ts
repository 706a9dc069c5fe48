import { fault, parseServer, readParameters, type WrittenAddress } from './address.ts';
import { type AlertMessage, defineChannel } from './channel.ts';
import { joinFitting, markOf, toPlain, withoutMentions } from './compose.ts';
import { escapeMarkdown, escapeMarkdownLine } from './markdown.ts';

const HOST = 'discord.com';
const MAX_CONTENT = 2_000;
/** Discord's flag for no previews: untrusted text may contain links. */
const SUPPRESS_EMBEDS = 4;

/** Discord's webhooks. */
export const discord = defineChannel({
  kind: 'discord',
  label: 'Discord',
  schemes: ['discord'],
  example: 'https://discord.com/api/webhooks/…',
  recognizes: /^https:\/\/(?:(?:canary|ptb)\.)?discord(?:app)?\.com\/api\/webhooks\//i,
  parse,
  request: ({ url }, message) => ({
    service: 'Discord',
    // Makes the answer say whether the message was accepted.
    url: `${url}?wait=true`,
    body: compose(message),
  }),
});

/** `discord://ID/TOKEN`, `discord://TOKEN@ID`, or `discord+` and the URL that Discord shows. */
function parse(written: WrittenAddress) {
  if (written.transport !== null) {
    const { url, path, authorization } = parseServer(written);
    readParameters(url, []);
    if (path.length < 2 || authorization !== null) throw fault('is not a webhook address');
    return toHook(url);
  }
  const { id, token } =
    (
      /^(?<id>\d{5,25})\/(?<token>[\w-]{20,200})\/?$/.exec(written.rest) ??
      /^(?<token>[\w-]{20,200})@(?<id>\d{5,25})\/?$/.exec(written.rest)
    )?.groups ?? {};
  if (id === undefined || token === undefined)
    throw fault('must have an id and a token: discord://ID/TOKEN');
  const url = new URL(`https://${HOST}/api/webhooks/${id}/${token}`);
  return toHook(url);
}

function toHook(url: URL) {
  const isPublicService = url.host === HOST;
  return { kind: 'discord' as const, url: url.href, isPublicService, place: url.host };
}

/** The body of a message for Discord's webhooks. */
function compose(message: AlertMessage): object {
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

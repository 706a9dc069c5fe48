import { decode, fault, parseServer, readParameters, type WrittenAddress } from './address.ts';
import { type AlertMessage, defineChannel } from './channel.ts';
import { joinFitting, markOf, toPlain, withoutLinks, withoutMentions } from './compose.ts';

const MAX_TEXT = 4_096;

/** Bots of Telegram. */
export const telegram = defineChannel({
  kind: 'telegram',
  label: 'Telegram',
  schemes: ['tgram', 'telegram'],
  example: 'tgram://BOT_TOKEN/CHAT',
  parse,
  request: (address, message) => ({ service: 'Telegram', body: compose(address, message) }),
});

/** `tgram://TOKEN/CHAT?topic=…`, or `tgram+https://…` for a self-hosted Bot API server. */
function parse({ rest, ...written }: WrittenAddress) {
  const isOwn = written.transport !== null;
  // A token is not a valid host and port, so it must not be parsed as one.
  const path = isOwn ? rest : `api.telegram.org/bot${rest.replace(/^bot/i, '')}`;
  const { url, path: parts, authorization } = parseServer({ ...written, rest: path });
  const chat = decode(parts.pop() ?? '');
  const token = /^bot(\d{3,20}:[\w-]{20,100})$/.exec(decode(parts.at(-1) ?? ''))?.[1];
  if (token === undefined)
    throw fault('must have the token of a bot, as in tgram://123456:ABC…/CHAT');
  if (!/^(?:-?\d{1,20}|@\w{4,64})$/.test(chat))
    throw fault('must have the number of a chat, or an @channel');
  if (authorization !== null) throw fault('has credentials before an @');
  const { topic } = readParameters(url, ['topic']);
  if (topic !== undefined && !/^\d{1,10}$/.test(topic))
    throw fault('has a topic that is not a number');
  url.search = '';
  url.pathname = `/${[...parts, 'sendMessage'].join('/')}`;
  return {
    kind: 'telegram' as const,
    url: url.href,
    isPublicService: !isOwn,
    chat,
    topic: topic === undefined ? null : Number(topic),
    place: url.host,
  };
}

/**
 * The body of `sendMessage` of Telegram's Bot API. Telegram finds links, names, tags and commands in any text, such as
 * `README.md`, but not in a code block, so the lines are put into one.
 */
function compose(
  { chat, topic }: { chat: string; topic: number | null },
  message: AlertMessage,
): object {
  const plain = toPlain(message);
  const title = withoutLinks(withoutMentions(`${markOf(message)} ${plain.title}`));
  const link = plain.link ?? '';
  const lines = joinFitting(plain, MAX_TEXT - title.length - link.length - 2);
  // In UTF-16 code units, like the length of a string.
  const block = { type: 'pre', offset: title.length + 1, length: lines.length };
  return {
    chat_id: chat,
    ...(topic === null ? {} : { message_thread_id: topic }),
    text: [title, lines, link].filter((part) => part !== '').join('\n'),
    ...(lines === '' ? {} : { entities: [block] }),
    link_preview_options: { is_disabled: true },
  };
}

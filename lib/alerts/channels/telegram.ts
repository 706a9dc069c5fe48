import type { AlertMessage } from './channel.ts';
import { joinFitting, markOf, toPlain, withoutLinks, withoutMentions } from './compose.ts';

const MAX_TEXT = 4_096;

/**
 * The body of `sendMessage` of Telegram's Bot API. Telegram finds links, names, tags and commands in any text, such as
 * `README.md`, but not in a code block, so the lines are put into one.
 */
export function composeTelegram(
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

import type { AlertMessage } from './channel.ts';
import { joinFitting, markOf, toPlain, withoutMentions } from './compose.ts';

const MAX_TEXT = 4_096;

/** The body of `sendMessage` of Telegram's Bot API. Without a parse mode, the text is what it is. */
export function composeTelegram(
  { chat, topic }: { chat: string; topic: number | null },
  message: AlertMessage,
): object {
  const plain = toPlain(message);
  const title = withoutMentions(`${markOf(message)} ${plain.title}`);
  const link = plain.link ?? '';
  const room = MAX_TEXT - title.length - link.length - 2;
  const lines = joinFitting(plain, room, { write: withoutMentions });
  return {
    chat_id: chat,
    ...(topic === null ? {} : { message_thread_id: topic }),
    text: [title, lines, link].filter((part) => part !== '').join('\n'),
    link_preview_options: { is_disabled: true },
  };
}

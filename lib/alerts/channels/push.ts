import type { AlertMessage } from './channel.ts';
import { joinFitting, loudnessOf, markOf, toPlain, withoutMentions } from './compose.ts';

// These services take plain text in JSON fields: nothing in it acts as a header or as markup.

/** Maximum bytes of a message; ntfy turns a longer one into a file. */
const MAX_NTFY_BYTES = 4_096;
const MAX_CHARS = 4_000;

/** The body of a message for ntfy. */
export function composeNtfy({ topic }: { topic: string }, message: AlertMessage): object {
  const plain = toPlain(message);
  const lines = joinFitting(plain, MAX_NTFY_BYTES, { size: Buffer.byteLength });
  return {
    topic,
    title: plain.title,
    // ntfy shows "triggered" for an empty message.
    message: lines === '' ? plain.title : lines,
    priority: [3, 4, 5][loudnessOf(message)],
    tags: [tagOf(message)],
    ...(plain.link === null ? {} : { click: plain.link }),
  };
}

function tagOf({ kind, severity }: AlertMessage): string {
  if (kind === 'resolved') return 'white_check_mark';
  const tags = { critical: 'rotating_light', warning: 'warning', info: 'information_source' };
  return tags[severity];
}

/** The body of a message for Gotify. */
export function composeGotify(message: AlertMessage): object {
  const plain = toPlain(message);
  return {
    title: `${markOf(message)} ${plain.title}`,
    message: joinFitting(plain, MAX_CHARS) || plain.title,
    priority: [4, 6, 8][loudnessOf(message)],
    extras: {
      'client::display': { contentType: 'text/plain' },
      ...(plain.link === null ? {} : { 'client::notification': { click: { url: plain.link } } }),
    },
  };
}

/** The body of a message for an Apprise API, which passes it on and cuts it for each of its services. */
export function composeApprise({ tags }: { tags: string | null }, message: AlertMessage): object {
  const plain = toPlain(message);
  const lines = joinFitting(plain, MAX_CHARS);
  const title = withoutMentions(plain.title);
  return {
    title,
    body: [withoutMentions(lines) || title, ...(plain.link === null ? [] : [plain.link])].join(
      '\n',
    ),
    type: typeOf(message),
    format: 'text',
    ...(tags === null ? {} : { tag: tags }),
  };
}

function typeOf({ kind, severity }: AlertMessage): string {
  if (kind === 'resolved') return 'success';
  return { critical: 'failure', warning: 'warning', info: 'info' }[severity];
}

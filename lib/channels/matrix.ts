import { createHash } from 'node:crypto';
import { escapeHtml } from '../text/escape-html.ts';
import {
  authorize,
  decode,
  fault,
  parseServer,
  readParameters,
  type WrittenAddress,
} from './address.ts';
import { type AlertMessage, defineChannel } from './channel.ts';
import { joinFitting, markOf, toPlain, withoutLinks, withoutMentions } from './compose.ts';

/** An event has at most 65,536 bytes, and JSON may double those of a text. */
const MAX_PLAIN_BYTES = 10_000;
const MAX_HTML_BYTES = 16_000;
const PUBLIC_HOSTS: readonly string[] = ['matrix.org', 'matrix-client.matrix.org'];
const BREAK = '<br>';

/** Rooms of Matrix, through the client-server API. */
export const matrix = defineChannel({
  kind: 'matrix',
  label: 'Matrix',
  schemes: ['matrix', 'matrixs'],
  example: 'matrix://ACCESS_TOKEN@matrix.example.com/!ROOM:example.com',
  parse,
  request(address, message) {
    const { room, url } = address;
    // The server ignores an event that it already has under the same id.
    const text = `${room} ${message.id} ${message.at.toISOString()}`;
    const id = createHash('sha256').update(text).digest('hex');
    return {
      service: 'Matrix',
      method: 'PUT',
      url: `${url}/${id}`,
      headers: authorize(address),
      body: compose(message),
      reasons: {
        M_UNKNOWN_TOKEN: 'the access token is not valid (any more)',
        M_MISSING_TOKEN: 'the access token is not valid (any more)',
        M_FORBIDDEN: 'the user of the token is not in the room, or may not send messages to it',
        M_NOT_FOUND: 'there is no such room',
        M_LIMIT_EXCEEDED: 'too many messages were sent',
      },
    };
  },
});

/** `matrix://ACCESS_TOKEN@HOST/!ROOM:SERVER`, with the id of the room. */
function parse(written: WrittenAddress) {
  const { url, authorization, path } = parseServer(written);
  readParameters(url, []);
  const room = decode(path.pop() ?? '');
  if (!authorization?.startsWith('Bearer ')) {
    throw fault('must have an access token, as in matrix://ACCESS_TOKEN@HOST/!ROOM:SERVER');
  }
  if (!/^![\x21-\x2e\x30-\x7e]{1,254}$/.test(room)) {
    throw fault('must end in the id of a room, which begins with !');
  }
  const isPublicService = PUBLIC_HOSTS.includes(url.host);
  const parts = ['_matrix/client/v3/rooms', encodeURIComponent(room), 'send/m.room.message'];
  url.pathname = [...path, ...parts].join('/');
  return {
    kind: 'matrix' as const,
    url: url.href,
    isPublicService,
    room,
    authorization,
    place: url.host,
  };
}

/** The content of a message, as plain text and as HTML. */
function compose(message: AlertMessage): object {
  const plain = toPlain(message);
  const clean = (text: string) => withoutLinks(withoutMentions(text));
  const write = (text: string) => escapeHtml(clean(text));
  const size = Buffer.byteLength;
  const title = `${markOf(message)} ${clean(plain.title)}`;
  const lines = joinFitting(plain, MAX_PLAIN_BYTES, { write: clean, size });
  const html = joinFitting(plain, MAX_HTML_BYTES, { write, size });
  const link = plain.link ?? '';
  const anchor = link === '' ? '' : `<a href="${escapeHtml(link)}">Open Backup Observatory</a>`;
  const join = (parts: readonly string[], by: string) =>
    parts.filter((part) => part !== '').join(by);
  return {
    // Clients do not notify of a notice (m.notice).
    msgtype: 'm.text',
    body: join([title, lines, link], '\n'),
    format: 'org.matrix.custom.html',
    formatted_body: join(
      [`<strong>${escapeHtml(title)}</strong>`, html.replaceAll('\n', BREAK), anchor],
      BREAK,
    ),
    // Mentions nobody, whatever the text contains.
    'm.mentions': {},
  };
}

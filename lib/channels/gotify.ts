import { fault, parseServer, readParameters, type WrittenAddress } from './address.ts';
import { type AlertMessage, defineChannel } from './channel.ts';
import { joinFitting, loudnessOf, markOf, toPlain } from './compose.ts';

// It takes plain text in JSON fields: nothing in it acts as a header or as markup.

const MAX_CHARS = 4_000;

/** Applications of Gotify. */
export const gotify = defineChannel({
  kind: 'gotify',
  label: 'Gotify',
  schemes: ['gotify', 'gotifys'],
  example: 'gotify://push.example.com/TOKEN',
  parse,
  request: ({ token }, message) => ({
    service: 'Gotify',
    headers: { 'X-Gotify-Key': token },
    body: compose(message),
  }),
});

/** `gotify://HOST/TOKEN`, with the token of an application. */
function parse(written: WrittenAddress) {
  const { url, authorization, path } = parseServer(written);
  readParameters(url, []);
  const token = path.pop() ?? '';
  if (!/^[\w.-]{8,100}$/.test(token) || authorization !== null) {
    throw fault('must have the token of an application, as in gotify://HOST/TOKEN');
  }
  url.pathname = [...path, 'message'].join('/');
  return {
    kind: 'gotify' as const,
    url: url.href,
    isPublicService: false,
    token,
    place: url.host,
  };
}

/** The body of a message for Gotify. */
function compose(message: AlertMessage): object {
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

import {
  decode,
  fault,
  parseServer,
  readParameters,
  type Target,
  type WrittenAddress,
} from './target.ts';

const NTFY = 'ntfy.sh';

/** `ntfy://TOPIC` for ntfy.sh, or `ntfy://[TOKEN@ or USER:PASSWORD@]HOST/TOPIC`. */
export function parseNtfy(written: WrittenAddress): Target {
  const [, credentials = '', atService] = /^(.*@)?([\w-]{1,64})$/.exec(written.rest) ?? [];
  const rest = atService === undefined ? written.rest : `${credentials}${NTFY}/${atService}`;
  const { url, authorization, path } = parseServer({ ...written, rest });
  readParameters(url, []);
  const topic = path.pop() ?? '';
  if (!/^[\w-]{1,64}$/.test(topic)) throw fault('must have a topic, as in ntfy://HOST/TOPIC');
  url.pathname = path.join('/');
  return {
    kind: 'ntfy',
    url: url.href,
    isPublicService: url.host === NTFY,
    topic,
    authorization,
    place: url.host,
  };
}

/** `gotify://HOST/TOKEN`, with the token of an application. */
export function parseGotify(written: WrittenAddress): Target {
  const { url, authorization, path } = parseServer(written);
  readParameters(url, []);
  const token = path.pop() ?? '';
  if (!/^[\w.-]{8,100}$/.test(token) || authorization !== null) {
    throw fault('must have the token of an application, as in gotify://HOST/TOKEN');
  }
  url.pathname = [...path, 'message'].join('/');
  return {
    kind: 'gotify',
    url: url.href,
    isPublicService: false,
    token,
    place: url.host,
  };
}

/** `apprise://[USER:PASSWORD@]HOST/KEY?tag=…` of an Apprise API. */
export function parseApprise(written: WrittenAddress): Target {
  const { url, authorization, path } = parseServer(written);
  const { tag } = readParameters(url, ['tag']);
  const key = path.pop() ?? '';
  if (!/^[\w-]{1,128}$/.test(key)) throw fault('must have a key, as in apprise://HOST/KEY');
  if (tag !== undefined && !/^[\w, -]{1,200}$/.test(tag)) throw fault('has an invalid tag');
  url.search = '';
  url.pathname = [...path, 'notify', key].join('/');
  return {
    kind: 'apprise',
    url: url.href,
    isPublicService: false,
    tags: tag ?? null,
    authorization,
    place: url.host,
  };
}

/** `webhook://HOST/…#whsec_…`, with the signing secret in base64. */
export function parseWebhook(written: WrittenAddress): Target {
  const { url, authorization } = parseServer(written);
  if (authorization !== null)
    throw fault('has credentials, but a webhook is authenticated by its signature only');
  const secret = decode(url.hash.slice(1));
  const bytes = /^whsec_([A-Za-z0-9+/]{32,90}={0,2})$/.exec(secret)?.[1];
  if (bytes === undefined || bytes.length % 4 !== 0 || atob(bytes).length > 64) {
    throw fault('must end in # and the signing secret: whsec_ and 24 to 64 bytes in base64');
  }
  url.hash = '';
  return {
    kind: 'webhook',
    url: url.href,
    isPublicService: false,
    secret,
    place: url.host,
  };
}

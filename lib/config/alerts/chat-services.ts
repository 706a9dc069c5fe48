import {
  decode,
  fault,
  parseServer,
  readParameters,
  type Target,
  type WrittenAddress,
} from './target.ts';

const SLACK = 'hooks.slack.com';
const DISCORD = 'discord.com';

/** `slack://T…/B…/…`, or `slack+` and the URL that Slack or a compatible service shows. */
export function parseSlack(written: WrittenAddress): Target {
  if (written.transport !== null) {
    const { url, path, authorization } = parseServer(written);
    readParameters(url, []);
    const needed = url.host === SLACK ? 4 : 1;
    if (path.length < needed || authorization !== null) throw fault('is not a webhook address');
    return toHook('slack', url, SLACK);
  }
  const [, ...tokens] =
    /^(T\w{3,40})\/(B\w{3,40})\/(\w{10,100})\/?$/.exec(written.rest) ??
    missing('three tokens, as in slack://T…/B…/…');
  const url = new URL(`https://${SLACK}/services/${tokens.join('/')}`);
  return toHook('slack', url, SLACK);
}

/** `discord://ID/TOKEN`, `discord://TOKEN@ID`, or `discord+` and the URL that Discord shows. */
export function parseDiscord(written: WrittenAddress): Target {
  if (written.transport !== null) {
    const { url, path, authorization } = parseServer(written);
    readParameters(url, []);
    if (path.length < 2 || authorization !== null) throw fault('is not a webhook address');
    return toHook('discord', url, DISCORD);
  }
  const { id, token } =
    (
      /^(?<id>\d{5,25})\/(?<token>[\w-]{20,200})\/?$/.exec(written.rest) ??
      /^(?<token>[\w-]{20,200})@(?<id>\d{5,25})\/?$/.exec(written.rest)
    )?.groups ?? {};
  if (id === undefined || token === undefined) throw lacks('an id and a token: discord://ID/TOKEN');
  const url = new URL(`https://${DISCORD}/api/webhooks/${id}/${token}`);
  return toHook('discord', url, DISCORD);
}

/** `tgram://TOKEN/CHAT?topic=…`, or `tgram+https://…` for a self-hosted Bot API server. */
export function parseTelegram({ rest, ...written }: WrittenAddress): Target {
  const isOwn = written.transport !== null;
  // A token is not a valid host and port, so it must not be parsed as one.
  const path = isOwn ? rest : `api.telegram.org/bot${rest.replace(/^bot/i, '')}`;
  const { url, path: parts, authorization } = parseServer({ ...written, rest: path });
  const chat = decode(parts.pop() ?? '');
  const token = /^bot(\d{3,20}:[\w-]{20,100})$/.exec(decode(parts.at(-1) ?? ''))?.[1];
  if (token === undefined) throw lacks('the token of a bot, as in tgram://123456:ABC…/CHAT');
  if (!/^(?:-?\d{1,20}|@\w{4,64})$/.test(chat)) throw lacks('the number of a chat, or an @channel');
  if (authorization !== null) throw fault('has credentials before an @');
  const { topic } = readParameters(url, ['topic']);
  if (topic !== undefined && !/^\d{1,10}$/.test(topic))
    throw fault('has a topic that is not a number');
  url.search = '';
  url.pathname = `/${[...parts, 'sendMessage'].join('/')}`;
  return {
    kind: 'telegram',
    url: url.href,
    isPublicService: !isOwn,
    chat,
    topic: topic === undefined ? null : Number(topic),
    place: url.host,
  };
}

function toHook(kind: 'slack' | 'discord', url: URL, service: string): Target {
  return {
    kind,
    url: url.href,
    isPublicService: url.host === service,
    place: url.host,
  };
}

function missing(what: string): never {
  throw lacks(what);
}

function lacks(what: string) {
  return fault(`must have ${what}`);
}

// Does not import the address parser: every program has a redactor, and would load it.

/** Shorter parts of a path may be common words, which must not be redacted everywhere. */
const MIN_LENGTH = 12;

/** The name before a channel's address. */
export const CHANNEL_NAME = /^([a-z][\w.-]{0,39})=(?=[a-z+]+:)/i;

/** The entries of ALERT_CHANNELS. */
export function splitChannels(text: string): string[] {
  return text.split(/[\s,]+/).filter((entry) => entry !== '');
}

/** The secrets in ALERT_CHANNELS, even if its value is invalid. */
export function channelSecrets(text: string): string[] {
  return splitChannels(text).flatMap((entry) => secretsOf(entry.replace(CHANNEL_NAME, '')));
}

/** An address and its secret parts. Mail addresses are not secret: the recipients of a mail see them. */
export function secretsOf(address: string): string[] {
  if (/^mailto:/i.test(address)) return [];
  const [, rest = ''] = /^(?:[a-z+]+:\/\/)?(.*)$/is.exec(address) ?? [];
  const [, credentials = '', place = ''] = /^(?:([^/@]*)@)?(.*)$/s.exec(rest) ?? [];
  const [path = '', fragment = ''] = place.split('#');
  const [first = '', ...others] = path.split(/[/?&=]/);
  // The first part is the host, except in `ntfy://TOPIC`.
  const parts = first.includes('.') ? others : [first, ...others];
  const secrets = [
    address,
    ...credentialsOf(credentials),
    ...parts.filter((part) => part.length >= MIN_LENGTH),
    fragment,
    fragment.replace(/^whsec_/, ''),
  ];
  return [...new Set(secrets.flatMap((part) => [part, decode(part)]))].filter(Boolean);
}

/** Credentials as written, and encoded as in the Authorization header. */
function credentialsOf(credentials: string): string[] {
  const [, password = ''] = credentials.split(':');
  const header = Buffer.from(decode(credentials)).toString('base64');
  return credentials === '' ? [] : [credentials, password, header];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not percent-encoded.
    return text;
  }
}

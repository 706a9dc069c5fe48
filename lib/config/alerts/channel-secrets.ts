// Without the parser of addresses, which every program would load: all have a redactor.

/** Shorter parts of a path are words of which others are made. */
const MIN_LENGTH = 12;

/** What comes before the address of a channel. */
export const CHANNEL_NAME = /^([a-z][\w.-]{0,39})=(?=[a-z+]+:)/i;

/** The entries of ALERT_CHANNELS. */
export function splitChannels(text: string): string[] {
  return text.split(/[\s,]+/).filter((entry) => entry !== '');
}

/** What must not be written anywhere of ALERT_CHANNELS, whether it is valid or not. */
export function channelSecrets(text: string): string[] {
  return splitChannels(text).flatMap((entry) => secretsOf(entry.replace(CHANNEL_NAME, '')));
}

/** An address and the parts of it that open something. Whoever gets a mail may see to whom it went. */
export function secretsOf(address: string): string[] {
  if (/^mailto:/i.test(address)) return [];
  const [, rest = ''] = /^(?:[a-z+]+:\/\/)?(.*)$/is.exec(address) ?? [];
  const [, credentials = '', place = ''] = /^(?:([^/@]*)@)?(.*)$/s.exec(rest) ?? [];
  const [path = '', fragment = ''] = place.split('#');
  const [first = '', ...others] = path.split(/[/?&=]/);
  // The host, unless it is a token: `ntfy://TOPIC`.
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

/** As they are, and as the header that they become. */
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

import { authorize, fault, parseServer, readParameters, type WrittenAddress } from './address.ts';
import { type AlertMessage, defineChannel } from './channel.ts';
import { joinFitting, loudnessOf, toPlain } from './compose.ts';

// It takes plain text in JSON fields: nothing in it acts as a header or as markup.

const NTFY = 'ntfy.sh';
/** Maximum bytes of a message; ntfy turns a longer one into a file. */
const MAX_NTFY_BYTES = 4_096;

/** Topics of ntfy. */
export const ntfy = defineChannel({
  kind: 'ntfy',
  label: 'ntfy',
  schemes: ['ntfy', 'ntfys'],
  example: 'ntfy://ntfy.example.com/TOPIC',
  parse,
  request: (address, message) => ({
    service: 'ntfy',
    headers: authorize(address),
    body: compose(address, message),
  }),
});

/** `ntfy://TOPIC` for ntfy.sh, or `ntfy://[TOKEN@ or USER:PASSWORD@]HOST/TOPIC`. */
function parse(written: WrittenAddress) {
  const [, credentials = '', atService] = /^(.*@)?([\w-]{1,64})$/.exec(written.rest) ?? [];
  const rest = atService === undefined ? written.rest : `${credentials}${NTFY}/${atService}`;
  const { url, authorization, path } = parseServer({ ...written, rest });
  readParameters(url, []);
  const topic = path.pop() ?? '';
  if (!/^[\w-]{1,64}$/.test(topic)) throw fault('must have a topic, as in ntfy://HOST/TOPIC');
  url.pathname = path.join('/');
  return {
    kind: 'ntfy' as const,
    url: url.href,
    isPublicService: url.host === NTFY,
    topic,
    authorization,
    place: url.host,
  };
}

/** The body of a message for ntfy. */
function compose({ topic }: { topic: string }, message: AlertMessage): object {
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

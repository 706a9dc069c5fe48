import type { Clock } from '../clock.ts';
import { decode, fault, parseServer, type WrittenAddress } from './address.ts';
import { type AlertMessage, defineChannel } from './channel.ts';
import { toPlain } from './compose.ts';

const MAX_LINES = 50;

/** Webhooks of the user's own programs. */
export const webhook = defineChannel({
  kind: 'webhook',
  label: 'Webhook',
  schemes: ['webhook'],
  example: 'webhook://example.com/path#whsec_…',
  parse,
  request: async (address, message, { clock }) => ({
    service: 'the webhook',
    ...(await compose(address, message, clock)),
  }),
});

/** `webhook://HOST/…#whsec_…`, with the signing secret in base64. */
function parse(written: WrittenAddress) {
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
    kind: 'webhook' as const,
    url: url.href,
    isPublicService: false,
    secret,
    place: url.host,
  };
}

/** The body of a webhook, and the headers that prove who sent it. */
async function compose(
  { secret }: { secret: string },
  message: AlertMessage,
  clock: Pick<Clock, 'now'>,
): Promise<{ headers: Record<string, string>; body: string }> {
  // Loaded with the first message, to keep cold starts fast.
  const { Webhook } = await import('standardwebhooks');
  const { title, lines, link, omitted } = toPlain(message);
  const shown = lines.slice(0, MAX_LINES);
  const { kind, severity, at } = message;
  const body = JSON.stringify({
    type: `alert.${kind}`,
    timestamp: at.toISOString(),
    data: {
      id: message.id,
      severity,
      title,
      lines: shown,
      omitted_lines: omitted + lines.length - shown.length,
      link,
    },
  });
  // In the signed text, dots separate the parts.
  const id = encodeURIComponent(message.id).replaceAll('.', '%2E');
  const now = new Date(clock.now());
  return {
    headers: {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
      'webhook-signature': new Webhook(secret).sign(id, now, body),
    },
    body,
  };
}

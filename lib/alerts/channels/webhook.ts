import type { Clock } from '../../clock.ts';
import type { AlertMessage } from './channel.ts';
import { toPlain } from './compose.ts';

const MAX_LINES = 50;

/** The body of a webhook, and the headers that prove who sent it. */
export async function composeWebhook(
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

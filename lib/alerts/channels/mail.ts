import { createHash } from 'node:crypto';
import type { AlertSendingConfig } from '../../config/alert-channels.ts';
import { escapeHtml } from '../../text/escape-html.ts';
import { type AlertMessage, ChannelError } from './channel.ts';
import { joinFitting, toPlain } from './compose.ts';
import { type PostDeps, post } from './post.ts';

const MAX_CHARS = 20_000;

/** What is missing for sending mail; null if it can be sent. */
export function findMailFault({ RESEND_API_KEY, SMTP_FROM }: AlertSendingConfig): string | null {
  if (RESEND_API_KEY !== undefined && SMTP_FROM !== undefined) return null;
  return 'no mail can be sent: set RESEND_API_KEY and SMTP_FROM';
}

/** Mails a message through Resend, which delivers it only once, even if it is retried. */
export async function sendMail(
  deps: PostDeps & { config: AlertSendingConfig },
  { to }: { to: string },
  message: AlertMessage,
  signal: AbortSignal,
): Promise<void> {
  const { RESEND_API_KEY: key, SMTP_FROM: from, RESEND_BASE_URL: base } = deps.config;
  if (key === undefined || from === undefined) {
    // Another process may have them, or this one after a restart, so the message must not be given up.
    throw new ChannelError(`${findMailFault(deps.config)}`, { retryable: true });
  }
  const mail = JSON.stringify({ from, to: [to], ...compose(message) });
  await post(deps, {
    service: 'the mail service',
    url: `${base}/emails`,
    headers: {
      Authorization: `Bearer ${key}`,
      'Idempotency-Key': `alert-${createHash('sha256').update(`${message.id} ${mail}`).digest('hex')}`,
    },
    body: mail,
    signal,
    isPublicService: true,
    secrets: [key],
  });
}

function compose(message: AlertMessage) {
  const plain = toPlain(message);
  const { title, link } = plain;
  const lines = joinFitting(plain, MAX_CHARS);
  const at = message.at.toISOString();
  const html = lines
    .split('\n')
    .map((line) => `<p style="margin: 0 0 4px; overflow-wrap: anywhere">${escapeHtml(line)}</p>`);
  const anchor =
    link === null ? '' : `<p><a href="${escapeHtml(link)}">Open Backup Observatory</a></p>`;
  return {
    subject: title,
    text: [title, '', lines, '', ...(link === null ? [] : [link]), at].join('\n'),
    html: `<!doctype html><html lang="en"><head><meta charset="utf-8"></head><body style="font-family: system-ui, sans-serif; line-height: 1.5"><h1 style="font-size: 18px">${escapeHtml(title)}</h1>${html.join('')}${anchor}<p style="color: #59636e">${at}</p></body></html>`,
  };
}

import { createHash } from 'node:crypto';
import * as z from 'zod';
import { escapeHtml } from '../text/escape-html.ts';
import { fault, type WrittenAddress } from './address.ts';
import {
  type AlertMessage,
  ChannelError,
  defineChannel,
  type MailChannelConfig,
} from './channel.ts';
import { joinFitting, toPlain } from './compose.ts';

const MAX_CHARS = 20_000;

/** Mailboxes, through Resend, which delivers a message only once, even if it is retried. */
export const mail = defineChannel({
  kind: 'mail',
  label: 'Mail',
  schemes: ['mailto'],
  example: 'mailto:ops@example.com',
  parse,
  request({ to }, message, { config }) {
    const { RESEND_API_KEY: key, SMTP_FROM: from, RESEND_BASE_URL: base } = config;
    if (key === undefined || from === undefined) {
      // Another process may have them, or this one after a restart, so the message must not be given up.
      throw new ChannelError(`${findMailFault(config)}`, { retryable: true });
    }
    const body = { from, to: [to], ...compose(message) };
    const hash = createHash('sha256')
      .update(`${message.id} ${JSON.stringify(body)}`)
      .digest('hex');
    return {
      service: 'the mail service',
      url: `${base}/emails`,
      headers: { Authorization: `Bearer ${key}`, 'Idempotency-Key': `alert-${hash}` },
      body,
      secrets: [key],
    };
  },
});

/** What is missing for sending mail; null if it can be sent. */
export function findMailFault({ RESEND_API_KEY, SMTP_FROM }: MailChannelConfig): string | null {
  if (RESEND_API_KEY !== undefined && SMTP_FROM !== undefined) return null;
  return 'no mail can be sent: set RESEND_API_KEY and SMTP_FROM';
}

function parse({ rest, transport }: WrittenAddress) {
  if (transport !== null) throw fault('must be mailto:somebody@example.com');
  if (!z.email().max(254).safeParse(rest).success) {
    throw fault('needs a mail address, as in mailto:somebody@example.com');
  }
  const place = rest.replace(/^(.).*(?=@)/, '$1…');
  // Its request names the mail service.
  return { kind: 'mail' as const, to: rest, url: '', isPublicService: true, place };
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

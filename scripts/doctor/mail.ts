import { z } from 'zod';
import { findMissingVariables, neededVariables } from '../../lib/config/features.ts';
import { type MailConfig, mailVariables } from '../../lib/config/mail.ts';
import { readBoundedText } from '../../lib/http/bounded-text.ts';
import { parseJson } from '../../lib/json.ts';
import { timed, withinLimit } from './measuring.ts';
import { type Check, type CheckFinding, failed, off, ok, toCheck, warning } from './report.ts';
import { type Subject, withConfig } from './subject.ts';

const WITHIN_MS = 5_000;
const MAX_BYTES = 256 * 1024;

/** The error of a key that can only send. */
const errorBody = z.object({ name: z.string() });
const domainList = z.object({
  has_more: z.boolean().optional(),
  data: z.array(z.object({ name: z.string(), status: z.string() })),
});

/** Checks the mail service by listing its domains. Sends nothing. */
export async function checkMail(subject: Subject): Promise<Check> {
  const found = await withConfig(mailVariables, subject, async (config) => {
    const missing = findMissingVariables('mail', config);
    if (missing.length === neededVariables.mail.length)
      return off('not configured: reports are not mailed');
    if (missing.length > 0) {
      const detail = `${missing.join(' and ')} not set: reports are not mailed`;
      return failed(detail, `set ${missing.join(' and ')}`);
    }
    return withinLimit(
      WITHIN_MS,
      subject.clock,
      () => askMailService(subject, config),
      (reason) => failed(`${config.RESEND_BASE_URL}: ${reason}`, 'correct RESEND_BASE_URL'),
    );
  });
  return toCheck('mail', found);
}

async function askMailService(
  { fetch }: Subject,
  { RESEND_API_KEY: key, RESEND_BASE_URL: url, SMTP_FROM: from = '' }: MailConfig,
): Promise<CheckFinding> {
  const { value, latency_ms } = await timed(async () => {
    const response = await fetch(`${url}/domains`, {
      headers: { Authorization: `Bearer ${key}`, Accept: 'application/json' },
      redirect: 'manual',
      signal: AbortSignal.timeout(WITHIN_MS),
    });
    return { status: response.status, body: parseJson(await readBoundedText(response, MAX_BYTES)) };
  });
  const { status, body } = value;
  const sender = /@([^>\s]+)/.exec(from)?.[1]?.toLowerCase() ?? '';
  const domains = domainList.safeParse(body).data;
  if (status === 200 && domains !== undefined) {
    const isVerified = domains.data.some(
      (domain) => domain.status === 'verified' && sender === domain.name.toLowerCase(),
    );
    if (isVerified || domains.has_more) return ok('key accepted', { latency_ms });
    return warning(
      `key accepted, but ${sender} is not one of its verified domains`,
      'verify the domain of SMTP_FROM with the mail service',
      { latency_ms },
    );
  }
  if (errorBody.safeParse(body).data?.name === 'restricted_api_key') {
    return ok('key accepted, for sending only', { latency_ms });
  }
  const isRejected = status === 401 || status === 403 || status === 400;
  return failed(
    isRejected ? 'RESEND_API_KEY was rejected' : `${url} answered ${status}`,
    isRejected ? 'replace RESEND_API_KEY' : 'try again later, or correct RESEND_BASE_URL',
    { latency_ms },
  );
}

import { createHash } from 'node:crypto';
import { findMissingVariables } from '../../config/features.ts';
import type { MailConfig } from '../../config/mail.ts';
import { AppError } from '../../errors.ts';
import type { Deps } from '../../http/deps.ts';
import { cleanText } from '../../text/clean-text.ts';

/** Total time for all attempts. */
const TIMEOUT_MS = 15_000;
/** A request without an answer, or with a 5xx answer, is sent again. */
const MAX_ATTEMPTS = 2;
const MAX_REASON_CHARS = 300;

/** One mail. */
export interface Mail {
  /** The id of the report. */
  id: string;
  recipients: readonly string[];
  subject: string;
  html: string;
  text: string;
}

/** The outcome of a mail. `under way`: another request is sending the same mail. */
export type MailOutcome =
  | { outcome: 'sent' }
  | { outcome: 'failed'; reason: string }
  | { outcome: 'under way' };

/** The dependencies for sending mail. */
export type MailDeps = Pick<Deps<MailConfig>, 'config' | 'log' | 'redactor' | 'clock'>;

/** The access to the mail service, or which variables are missing. */
export function findMail(config: MailConfig): { key: string; from: string } | { fault: string } {
  const { RESEND_API_KEY: key, SMTP_FROM: from } = config;
  const missing = findMissingVariables('mail', config);
  if (missing.length === 0 && key !== undefined && from !== undefined) return { key, from };
  return { fault: `no report can be mailed: the operator has to set ${missing.join(', ')}` };
}

/** The access to the mail service. Logs and throws SERVICE_UNAVAILABLE if it is not configured. */
export function requireMail({ config, log }: Pick<MailDeps, 'config' | 'log'>): {
  key: string;
  from: string;
} {
  const found = findMail(config);
  if (!('fault' in found)) return found;
  log.error(found.fault);
  throw new AppError('SERVICE_UNAVAILABLE', found.fault);
}

/**
 * Sends a mail. The same report to the same recipients has the same Idempotency-Key, so that neither our second
 * attempt nor the user's delivers it twice. Only throws SERVICE_UNAVAILABLE, if mail is not configured.
 */
export async function sendMail(deps: MailDeps, mail: Mail): Promise<MailOutcome> {
  const { key, from } = requireMail(deps);
  // Loaded with the first mail, to keep cold starts fast.
  const { Resend } = await import('resend');
  const { emails } = new Resend(key, { baseUrl: deps.config.RESEND_BASE_URL });
  const { recipients, subject, html, text } = mail;
  // Sorted, because the service rejects different content with a known key.
  const message = { from, to: recipients.toSorted(), subject, html, text };

  const expired = new AbortController();
  const done = new AbortController();
  deps.clock.sleep(TIMEOUT_MS, done.signal).then(
    () => expired.abort(),
    () => undefined, // the answer came first
  );
  const options = {
    idempotencyKey: idempotencyKeyOf(from, mail),
    signal: expired.signal,
    // Passed on to fetch: a redirect would send the report elsewhere.
    redirect: 'manual',
  };
  try {
    for (let attempt = 1; ; attempt += 1) {
      const { data, error } = await emails.send(message, options);
      // Not judged by `error`, which is missing for a refusal whose body is `null`.
      if (typeof data?.id === 'string') return { outcome: 'sent' };
      // The body of a refusal can be any JSON.
      const refusal: Refusal = Object(error);
      if (refusal.name === 'concurrent_idempotent_requests') return { outcome: 'under way' };
      if (expired.signal.aborted) {
        const reason = `the mail service did not answer within ${TIMEOUT_MS / 1000} seconds`;
        return { outcome: 'failed', reason };
      }
      const status = Number(refusal.statusCode ?? 0);
      const mayPass = !(status >= 300 && status < 500);
      if (!mayPass || attempt === MAX_ATTEMPTS) {
        return { outcome: 'failed', reason: describe(refusal, deps) };
      }
    }
  } finally {
    done.abort();
  }
}

/** The same for a report and its recipients in any order. With another sender it is another mail. */
function idempotencyKeyOf(from: string, { id, recipients }: Mail): string {
  const digest = createHash('sha256').update(JSON.stringify([from, recipients.toSorted()]));
  return `report-${id}-${digest.digest('hex').slice(0, 32)}`;
}

/** The error of a mail that was not accepted: the client's own, or the service's unchecked body. */
interface Refusal {
  name?: unknown;
  /** Null without an answer. */
  statusCode?: unknown;
  message?: unknown;
}

function describe(
  { statusCode, message }: Refusal,
  { redactor }: Pick<MailDeps, 'redactor'>,
): string {
  if (statusCode === null) return 'the mail service did not answer';
  const status = typeof statusCode === 'number' ? String(statusCode) : 'without a status';
  const said = typeof message === 'string' ? message : 'an unexpected body';
  return `the mail service answered ${status}: ${redactor.text(cleanText(said, MAX_REASON_CHARS))}`;
}

import { createHash } from 'node:crypto';
import type { MailConfig } from '../../config/mail.ts';
import type { Deps } from '../../deps.ts';
import { AppError } from '../../errors.ts';
import { cleanText } from '../../text/clean-text.ts';

/** Longest wait for the mail service, all attempts together. */
const TIMEOUT_MS = 15_000;
/** A request that got no answer, or a 5xx one, is sent once more. */
const ATTEMPTS = 2;
const MAX_REASON = 300;

/** One mail. */
export interface Mail {
  /** Of the report. */
  id: string;
  recipients: readonly string[];
  subject: string;
  html: string;
  text: string;
}

/** What became of a mail; `under way`: another request sends the very same now. */
export type Delivery =
  | { outcome: 'sent' }
  | { outcome: 'failed'; reason: string }
  | { outcome: 'under way' };

/** The dependencies that delivery needs. */
export type MailDeps = Pick<Deps<MailConfig>, 'config' | 'log' | 'redactor' | 'clock'>;

/** What the mail service is reached by, or which variables are missing. */
export function findMail({
  RESEND_API_KEY: key,
  SMTP_FROM: from,
  SMTP_TO,
}: MailConfig): { key: string; from: string } | { fault: string } {
  const [firstRecipient] = SMTP_TO;
  if (key !== undefined && from !== undefined && firstRecipient !== undefined) return { key, from };
  const missing = Object.entries({ RESEND_API_KEY: key, SMTP_FROM: from, SMTP_TO: firstRecipient })
    .filter(([, value]) => value === undefined)
    .map(([name]) => name);
  return { fault: `no report can be mailed: the operator has to set ${missing.join(', ')}` };
}

/** What the mail service is reached by. Throws SERVICE_UNAVAILABLE, and logs it, when it is not configured. */
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
 * Hands a mail to the mail service. The same report to the same recipients has the same Idempotency-Key,
 * so that neither our second attempt nor a user's mails it twice. Throws SERVICE_UNAVAILABLE when mail is
 * not configured, nothing else.
 */
export async function sendMail(deps: MailDeps, mail: Mail): Promise<Delivery> {
  const { key, from } = requireMail(deps);
  // Loaded when the first mail is sent: it would make every cold start slower.
  const { Resend } = await import('resend');
  const { emails } = new Resend(key, { baseUrl: deps.config.RESEND_BASE_URL });
  const { recipients, subject, html, text } = mail;
  // In one order: the service refuses another content under a key that it knows.
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
    // The client hands its options to fetch: a redirect would carry the report elsewhere.
    redirect: 'manual',
  };
  try {
    for (let attempt = 1; ; attempt += 1) {
      const { data, error } = await emails.send(message, options);
      // The client gives no error either for a refusal whose body is `null`.
      if (typeof data?.id === 'string') return { outcome: 'sent' };
      // Whatever JSON a refusal had.
      const refusal: Refusal = Object(error);
      if (refusal.name === 'concurrent_idempotent_requests') return { outcome: 'under way' };
      if (expired.signal.aborted) {
        const reason = `the mail service did not answer within ${TIMEOUT_MS / 1000} seconds`;
        return { outcome: 'failed', reason };
      }
      const status = Number(refusal.statusCode ?? 0);
      const mayPass = !(status >= 300 && status < 500);
      if (!mayPass || attempt === ATTEMPTS) {
        return { outcome: 'failed', reason: describe(refusal, deps) };
      }
    }
  } finally {
    done.abort();
  }
}

/** One for a report and its recipients, in whatever order. A new sender makes it another mail. */
function idempotencyKeyOf(from: string, { id, recipients }: Mail): string {
  const digest = createHash('sha256').update(JSON.stringify([from, recipients.toSorted()]));
  return `report-${id}-${digest.digest('hex').slice(0, 32)}`;
}

/** What the client says of a mail that was not taken: its own words, or the service's as they came. */
interface Refusal {
  name?: unknown;
  /** Null when there was no answer. */
  statusCode?: unknown;
  message?: unknown;
}

function describe(
  { statusCode, message }: Refusal,
  { redactor }: Pick<MailDeps, 'redactor'>,
): string {
  if (statusCode === null) return 'the mail service did not answer';
  const status = typeof statusCode === 'number' ? String(statusCode) : 'without a status';
  const said = typeof message === 'string' ? message : 'nothing that Resend would say';
  return `the mail service answered ${status}: ${redactor.text(cleanText(said, MAX_REASON))}`;
}

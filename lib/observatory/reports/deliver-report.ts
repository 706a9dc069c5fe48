import type { MailConfig } from '../../config/mail.ts';
import type { Deps } from '../../deps.ts';
import { AppError } from '../../errors.ts';
import { type Report, recordDelivery } from '../../records/reports.ts';
import { type MailDeps, sendMail } from './mail-service.ts';

/** The dependencies that mailing a report needs. */
export type DeliveryDeps = MailDeps & Pick<Deps<MailConfig>, 'db'>;

/**
 * Mails a report that is kept to recipients that are allowed, and notes how it ended. Throws
 * EMAIL_DELIVERY_FAILED when it was not taken (the report is then failed) and CONFLICT while another
 * request mails the same to the same, both with the report's id, and SERVICE_UNAVAILABLE when mail is not
 * configured.
 */
export async function deliverReport(
  deps: DeliveryDeps,
  report: Report,
  recipients: readonly string[],
): Promise<Report> {
  const { id, subject, content_html: html, content_markdown: text } = report;
  const delivery = await sendMail(deps, {
    id,
    recipients,
    subject,
    html: toDocument(html),
    text,
  });
  if (delivery.outcome === 'under way') {
    throw new AppError('CONFLICT', `report ${id} is being mailed by another request`, {
      fields: { report_id: id },
    });
  }
  const error = delivery.outcome === 'failed' ? delivery.reason : null;
  const recorded = await recordDelivery(deps.db, id, { recipients, error });
  if (error !== null) {
    throw new AppError('EMAIL_DELIVERY_FAILED', `report ${id} was not mailed: ${error}`, {
      fields: { report_id: id },
    });
  }
  if (recorded === null) throw new AppError('NOT_FOUND', 'report not found');
  return recorded;
}

const style =
  'font-family: system-ui, sans-serif; line-height: 1.5; color: #1f2328; max-width: 60em';

/** A mail is a whole document. Its body is what `renderHtml` made, which nothing can leave. */
function toDocument(html: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"></head><body style="${style}">${html}</body></html>`;
}

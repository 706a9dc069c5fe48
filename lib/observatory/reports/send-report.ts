import type { MailConfig } from '../../config/mail.ts';
import { AppError } from '../../errors.ts';
import type { Deps } from '../../http/deps.ts';
import { addReport, type Report, recordDelivery } from '../../records/reports.ts';
import { findMail, type MailDeps, requireMail, sendMail } from './mail-service.ts';
import { allowRecipients, nameAddresses } from './recipients.ts';
import { renderHtml } from './render-html.ts';
import { cleanMarkdown, cleanSubject } from './text.ts';

/** The dependencies for mailing a report. */
export type MailReportDeps = MailDeps & Pick<Deps<MailConfig>, 'db'>;

/**
 * Mails a stored report to allowed recipients and records the outcome. Throws SERVICE_UNAVAILABLE if mail is not
 * configured, EMAIL_DELIVERY_FAILED if the mail was not accepted, and CONFLICT while another request mails the
 * same report to the same recipients. The last two name the report's id.
 */
export async function deliverReport(
  deps: MailReportDeps,
  report: Report,
  recipients: readonly string[],
): Promise<Report> {
  const { id, subject, content_html: html, content_markdown: text } = report;
  const mail = { id, recipients, subject, html: toDocument(html), text };
  const delivery = await sendMail(deps, mail);
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

/** Wraps the output of `renderHtml` in a complete document. */
function toDocument(html: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"></head><body style="${style}">${html}</body></html>`;
}

/** A written report, ready to be mailed. */
export interface WrittenReport {
  subject: string;
  recipients: string[];
  content_markdown: string;
}

/** A requested report. Without recipients it goes to everybody in SMTP_TO. */
export interface RequestedReport {
  subject: string;
  recipients?: readonly string[] | null | undefined;
  content_markdown: string;
}

/**
 * Prepares a requested report for mailing: removes secrets and checks the recipients against SMTP_TO. Throws
 * SERVICE_UNAVAILABLE if mail is not configured, RECIPIENT_NOT_ALLOWED, and VALIDATION_ERROR if nothing of the
 * text is visible.
 */
export function prepareReport(deps: MailReportDeps, requested: RequestedReport): WrittenReport {
  requireMail(deps);
  const { config, redactor } = deps;
  return {
    subject: cleanSubject(requested.subject, redactor),
    recipients: allowRecipients(requested.recipients ?? config.SMTP_TO, config.SMTP_TO),
    content_markdown: cleanMarkdown(requested.content_markdown, redactor),
  };
}

/** Stores a prepared report for its user (null for the MCP server) and mails it. Throws like `deliverReport`. */
export async function sendPreparedReport(
  deps: MailReportDeps,
  { username, ...report }: WrittenReport & { username: string | null },
): Promise<Report> {
  const kept = await addReport(deps.db, {
    username,
    reportType: 'custom',
    subject: report.subject,
    recipients: report.recipients,
    contentMarkdown: report.content_markdown,
    contentHtml: await renderHtml([{ written: report.content_markdown }]),
  });
  return deliverReport(deps, kept, report.recipients);
}

/** Mails the reports of the chat. */
export type ReportMail = ReturnType<typeof createReportMail>;

/** Creates the report mail of one process. */
export function createReportMail(deps: MailReportDeps) {
  const { config } = deps;
  return {
    /** Tells the model who may receive reports, or why none can be mailed. */
    describe(): string {
      const found = findMail(config);
      if ('fault' in found) return `It cannot be used now: ${found.fault}.`;
      const all = allowRecipients(config.SMTP_TO, config.SMTP_TO);
      return `Only these may receive it, and without recipients all of them do: ${nameAddresses(all)}.`;
    },
    prepare: (requested: RequestedReport) => prepareReport(deps, requested),
    /** Returns the result of the tool send_report_email. */
    async send(report: WrittenReport & { username: string }) {
      const { id, recipients, status } = await sendPreparedReport(deps, report);
      return { report_id: id, recipients, status };
    },
  };
}

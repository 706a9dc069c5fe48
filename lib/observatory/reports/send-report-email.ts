import { addReport, type Report } from '../../records/reports.ts';
import { type DeliveryDeps, deliverReport } from './deliver-report.ts';
import { findMail, requireMail } from './mail-service.ts';
import { allowRecipients, nameAddresses } from './recipients.ts';
import { renderHtml } from './render-html.ts';
import { cleanMarkdown, cleanSubject } from './text.ts';

/** A report that somebody wrote, as it is mailed. */
export interface WrittenReport {
  subject: string;
  recipients: string[];
  content_markdown: string;
}

/** The same as it was asked for: without recipients it goes to all of SMTP_TO. */
export interface AskedReport {
  subject: string;
  recipients?: readonly string[] | null | undefined;
  content_markdown: string;
}

/**
 * What would be mailed of a report that was asked for: its text without secrets, its recipients as they
 * stand in SMTP_TO. Throws SERVICE_UNAVAILABLE when mail is not configured, RECIPIENT_NOT_ALLOWED, and
 * VALIDATION_ERROR when nothing of the text can be seen.
 */
export function prepareReport(deps: DeliveryDeps, asked: AskedReport): WrittenReport {
  requireMail(deps);
  const { config, redactor } = deps;
  return {
    subject: cleanSubject(asked.subject, redactor),
    recipients: allowRecipients(asked.recipients ?? config.SMTP_TO, config.SMTP_TO),
    content_markdown: cleanMarkdown(asked.content_markdown, redactor),
  };
}

/** Keeps a prepared report, by its user (null: the MCP server), and mails it. Throws as `deliverReport`. */
export async function sendPreparedReport(
  deps: DeliveryDeps,
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

/** How the agent of the chat mails reports. */
export type ReportMail = ReturnType<typeof createReportMail>;

/** Builds it for one process. */
export function createReportMail(deps: DeliveryDeps) {
  const { config } = deps;
  return {
    /** What its model is told: who may get reports, or why none can be mailed. */
    describe(): string {
      const found = findMail(config);
      if ('fault' in found) return `It cannot do so now: ${found.fault}.`;
      const all = allowRecipients(config.SMTP_TO, config.SMTP_TO);
      return `Only these may get it, and without recipients all of them do: ${nameAddresses(all)}.`;
    },
    prepare: (asked: AskedReport) => prepareReport(deps, asked),
    /** Told as the result of the agent's tool. */
    async send(report: WrittenReport & { username: string }) {
      const { id, recipients, status } = await sendPreparedReport(deps, report);
      return { report_id: id, recipients, status };
    },
  };
}

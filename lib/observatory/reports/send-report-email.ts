import { AppError } from '../../platform/errors.ts';
import { addReport, type Report } from '../../records/reports.ts';
import { type DeliveryHandles, deliverReport } from './deliver-report.ts';
import { requireMail } from './mail-service.ts';
import { allowRecipients } from './recipients.ts';
import { renderHtml } from './render-html.ts';
import { cleanMarkdown, cleanSubject } from './text.ts';

/** A report that somebody wrote. */
export interface WrittenReport {
  /** Whose report it is; null for the MCP server's. */
  username: string | null;
  subject: string;
  recipients: readonly string[];
  content_markdown: string;
}

/**
 * Keeps a report that somebody wrote and mails it. Throws RECIPIENT_NOT_ALLOWED before anything is kept,
 * and what `deliverReport` throws.
 */
export async function sendWrittenReport(
  handles: DeliveryHandles,
  { username, subject, recipients, content_markdown }: WrittenReport,
): Promise<Report> {
  const allowed = allowRecipients(recipients, handles.config.SMTP_TO);
  if (allowed.length === 0) {
    throw new AppError('RECIPIENT_NOT_ALLOWED', 'there is no recipient');
  }
  requireMail(handles);
  const contentMarkdown = cleanMarkdown(content_markdown, handles.redactor);
  const report = await addReport(handles.db, {
    username,
    reportType: 'custom',
    subject: cleanSubject(subject, handles.redactor),
    recipients: allowed,
    contentMarkdown,
    contentHtml: await renderHtml([{ written: contentMarkdown }]),
  });
  return deliverReport(handles, report, allowed);
}

/** The same for the agent of the chat, told as its tool's result (decisions 5, The agent's tools). */
export async function sendReportEmail(
  handles: DeliveryHandles,
  written: WrittenReport,
): Promise<{ report_id: string; recipients: string[]; status: string }> {
  const { id, recipients, status } = await sendWrittenReport(handles, written);
  return { report_id: id, recipients, status };
}

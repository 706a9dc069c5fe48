import { addReport } from '../../records/reports.ts';
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
 * Keeps a report that the agent wrote and mails it. Throws RECIPIENT_NOT_ALLOWED before anything is kept,
 * and what `deliverReport` throws. (decisions 5, The agent's tools)
 */
export async function sendReportEmail(
  handles: DeliveryHandles,
  { username, subject, recipients, content_markdown }: WrittenReport,
  signal?: AbortSignal,
): Promise<{ report_id: string; recipients: string[]; status: string }> {
  const allowed = allowRecipients(recipients, handles.config.SMTP_TO);
  requireMail(handles);
  const contentMarkdown = cleanMarkdown(content_markdown, handles.redactor);
  const report = await addReport(handles.db, {
    username,
    reportType: 'custom',
    subject: cleanSubject(subject, handles.redactor),
    recipients: allowed,
    contentMarkdown,
    contentHtml: await renderHtml([{ markdown: contentMarkdown }]),
  });
  const sent = await deliverReport(handles, report, allowed, signal);
  return { report_id: sent.id, recipients: sent.recipients, status: sent.status };
}

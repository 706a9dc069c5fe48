import { AppError } from '../../platform/errors.ts';
import { type Endpoint, endpoint } from '../../platform/http/route.ts';
import { addReport, findReport, listReports } from '../../records/reports.ts';
import { sendData, sendJsonData } from '../answers.ts';
import type { ObservatoryHandles } from '../handles.ts';
import {
  createReportRoute,
  listReportsRoute,
  readReportRoute,
  sendReportRoute,
} from '../routes/reports.ts';
import type { Content } from './content.ts';
import { deliverReport } from './deliver-report.ts';
import { requireMail } from './mail-service.ts';
import { makeReport } from './make-report.ts';
import { allowRecipients } from './recipients.ts';
import { joinMarkdown, renderHtml } from './render-html.ts';
import { isReportType, reportTypes } from './report-types.ts';
import { sendWrittenReport } from './send-report-email.ts';
import { cleanMarkdown, cleanSubject } from './text.ts';

const PAGE_SIZE = 20;

/** POST and GET /reports, POST /reports/send, GET /reports/:id (spec 2, rule 7; decisions 5). */
export const reportsEndpoints: readonly Endpoint<ObservatoryHandles>[] = [
  endpoint(createReportRoute, async ({ body }, handles: ObservatoryHandles, c) => {
    const { config, db, redactor } = handles;
    const { report_type: type, run_id: runId, content_markdown: written } = body;
    if (!isReportType(type)) {
      const known = `report_type must be one of ${reportTypes.join(', ')}`;
      throw new AppError('UNKNOWN_REPORT_TYPE', known);
    }
    const recipients = allowRecipients(body.recipients ?? [], config.SMTP_TO);
    if (recipients.length > 0) requireMail(handles);
    const made: Content = await makeReport(handles, type, runId);
    const blocks =
      written === undefined ? made.blocks : [{ written: cleanMarkdown(written, redactor) }];
    const report = await addReport(db, {
      username: c.get('user'),
      reportType: type,
      subject: cleanSubject(body.subject ?? made.subject, redactor),
      recipients,
      contentMarkdown: joinMarkdown(blocks),
      contentHtml: await renderHtml(blocks),
    });
    if (recipients.length === 0) return sendData(c, 'Made the report', report, 201);
    const sent = await finish(handles, deliverReport(handles, report, recipients));
    return sendData(c, 'Made and mailed the report', sent, 201);
  }),
  endpoint(sendReportRoute, async ({ body }, handles: ObservatoryHandles, c) => {
    const { config, db } = handles;
    const username: string | undefined = c.get('user');
    // Only the MCP server comes here without a user (internal-access.ts).
    if (username === undefined) {
      const { subject, content_markdown } = body;
      if (subject === undefined) throw missing('subject');
      if (content_markdown === undefined) throw missing('content_markdown');
      const written = { username: null, recipients: config.SMTP_TO, subject, content_markdown };
      const sent = await finish(handles, sendWrittenReport(handles, written));
      return sendData(c, 'Mailed the report', sent);
    }
    if (body.report_id === undefined) throw missing('report_id');
    const report = await findReport(db, username, body.report_id);
    if (report === null) throw notFound();
    const own = report.recipients.length > 0 ? report.recipients : config.SMTP_TO;
    // Those of the report too: the allowlist may have changed since.
    const recipients = allowRecipients(body.recipients ?? own, config.SMTP_TO);
    if (recipients.length === 0) {
      throw new AppError('RECIPIENT_NOT_ALLOWED', 'the allowlist SMTP_TO is empty');
    }
    const sent = await finish(handles, deliverReport(handles, report, recipients));
    return sendData(c, 'Mailed the report', sent);
  }),
  endpoint(listReportsRoute, async ({ query }, { db }: ObservatoryHandles, c) => {
    const { page = 1, limit = PAGE_SIZE } = query;
    const reports = await listReports(db, c.get('user'), { page, limit });
    return sendJsonData(c, 'Read the reports', reports);
  }),
  endpoint(readReportRoute, async ({ params }, { db }: ObservatoryHandles, c) => {
    const report = await findReport(db, c.get('user'), params.id);
    if (report === null) throw notFound();
    return sendData(c, 'Read the report', report);
  }),
];

/** A delivery that has begun is noted to its end, also when the client leaves and the platform with it. */
function finish<Value>(
  { waitUntil }: Pick<ObservatoryHandles, 'waitUntil'>,
  delivery: Promise<Value>,
): Promise<Value> {
  waitUntil(Promise.allSettled([delivery]));
  return delivery;
}

function missing(field: string): AppError {
  const message = 'is required';
  return new AppError('VALIDATION_ERROR', `${field} ${message}`, {
    details: [{ path: field, message }],
  });
}

function notFound(): AppError {
  return new AppError('NOT_FOUND', 'report not found');
}

import * as z from 'zod';
import { AppError } from '../errors.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { addReport, findReport, listReports } from '../records/reports.ts';
import { observatoryRoute, refused, sendData, sendJsonData, wrapped } from './base/answers.ts';
import { integerQuery, uuid } from './base/input.ts';
import type { ObservatoryDeps } from './base/observatory-deps.ts';
import { SEND_PATH } from './reports/internal-access.ts';
import { requireMail } from './reports/mail-service.ts';
import { isReportType, makeReport, reportTypes } from './reports/make-report.ts';
import { allowRecipients } from './reports/recipients.ts';
import type { Content } from './reports/render-html.ts';
import { joinMarkdown, renderHtml } from './reports/render-html.ts';
import { deliverReport, prepareReport, sendPreparedReport } from './reports/send-report.ts';
import {
  cleanMarkdown,
  cleanSubject,
  MAX_MARKDOWN_CHARS,
  MAX_SUBJECT_CHARS,
} from './reports/text.ts';

const common = { ...observatoryRoute, tag: 'Reports', access: 'user' } as const;

const timestamp = z.iso.datetime({ precision: 6 });

const report = z
  .object({
    id: z.guid(),
    report_type: z
      .enum([...reportTypes, 'custom'])
      .meta({ description: '`custom` was written in the chat or by an MCP client.' }),
    subject: z.string(),
    recipients: z.array(z.string()),
    status: z.enum(['generated', 'sent', 'failed']).meta({
      description: 'Outcome of the latest delivery; `generated` before the first.',
    }),
    content_markdown: z.string(),
    content_html: z
      .string()
      .meta({ description: 'Safe to show: no scripts and no remote content.' }),
    created_at: timestamp,
    sent_at: timestamp.nullable(),
    error_message: z.string().nullable(),
  })
  .meta({ id: 'Report' });

/** Resend accepts up to 50 per mail. */
const recipients = z
  .array(z.string().trim().min(3).max(320))
  .max(50)
  .meta({ description: 'Addresses from SMTP_TO.' });
const subject = z.string().trim().min(1).max(MAX_SUBJECT_CHARS);
const markdown = z.string().trim().min(1).max(MAX_MARKDOWN_CHARS);

const deliveryFailures = {
  502: refused('EMAIL_DELIVERY_FAILED: the report is stored as failed, with the id `report_id`.'),
  503: refused('The database is unavailable, or mail is not configured.'),
};

const PAGE_SIZE = 20;

/** POST and GET /reports, POST /reports/send, GET /reports/:id. */
export const reportsEndpoints: readonly Endpoint<ObservatoryDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'post',
      path: '/reports',
      summary: 'Create a report, and mail it if recipients are given',
      body: {
        encoding: 'json',
        schema: z
          .object({
            report_type: z
              .string()
              .max(100)
              .meta({
                description: `One of ${reportTypes.join(', ')}.`,
                examples: [...reportTypes],
              }),
            subject: subject.optional().meta({ description: 'Default: a summary of the result.' }),
            recipients: recipients.optional(),
            run_id: z.int().min(1).optional().meta({
              description:
                'The run to report on. Default: the latest run; for an investigation, the latest failed run. A summary covers the 30 days before it, by default before now.',
            }),
            content_markdown: markdown
              .optional()
              .meta({ description: 'Your own text instead of the generated one.' }),
          })
          .meta({ id: 'NewReport' }),
      },
      responses: {
        201: wrapped('The report.', report),
        400: refused('Malformed input, UNKNOWN_REPORT_TYPE or RECIPIENT_NOT_ALLOWED.'),
        404: refused('No such run.'),
        409: refused('Another request is mailing the report.'),
        ...deliveryFailures,
      },
    },
    async ({ body }, deps: ObservatoryDeps, c) => {
      const { config, db, redactor } = deps;
      const { report_type: type, run_id: runId, content_markdown: written } = body;
      if (!isReportType(type)) {
        const known = `report_type must be one of ${reportTypes.join(', ')}`;
        throw new AppError('UNKNOWN_REPORT_TYPE', known);
      }
      const recipients = allowRecipients(body.recipients ?? [], config.SMTP_TO);
      if (recipients.length > 0) requireMail(deps);
      const made: Content = await makeReport(deps, type, runId);
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
      if (recipients.length === 0) return sendData(c, 'Created the report', report, 201);
      const sent = await finish(deps, deliverReport(deps, report, recipients));
      return sendData(c, 'Created and mailed the report', sent, 201);
    },
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      path: SEND_PATH,
      summary: 'Mail one of your reports, even repeatedly',
      description:
        'The mail service delivers the same report to the same recipients only once in 24 hours. With REPORTS_ACCEPT_INTERNAL=true the MCP server may also send {subject, content_markdown} with X-Internal-Secret; that report goes to everybody in SMTP_TO.',
      idFields: ['report_id'],
      body: {
        encoding: 'json',
        schema: z
          .object({
            report_id: uuid.optional().meta({ description: 'Required with a user token.' }),
            recipients: recipients.min(1).optional().meta({
              description: 'Default: those of the report, or everybody in SMTP_TO if it has none.',
            }),
            subject: subject.optional().meta({ description: 'Only from the MCP server.' }),
            content_markdown: markdown
              .optional()
              .meta({ description: 'Only from the MCP server.' }),
          })
          .meta({ id: 'ReportDelivery' }),
      },
      responses: {
        200: wrapped('The mailed report.', report),
        400: refused('Malformed input, or RECIPIENT_NOT_ALLOWED.'),
        404: refused('You have no such report.'),
        409: refused('Another request is mailing it.'),
        ...deliveryFailures,
      },
    },
    async ({ body }, deps: ObservatoryDeps, c) => {
      const { config, db } = deps;
      const username: string | undefined = c.get('user');
      // Only the MCP server gets here without a user (internal-access.ts).
      if (username === undefined) {
        const { subject, content_markdown } = body;
        if (subject === undefined) throw missing('subject');
        if (content_markdown === undefined) throw missing('content_markdown');
        const report = prepareReport(deps, { subject, content_markdown });
        const sent = await finish(deps, sendPreparedReport(deps, { username: null, ...report }));
        return sendData(c, 'Mailed the report', sent);
      }
      if (body.report_id === undefined) throw missing('report_id');
      const report = await findReport(db, username, body.report_id);
      if (report === null) throw notFound();
      const own = report.recipients.length > 0 ? report.recipients : config.SMTP_TO;
      // Also checked for the report's own recipients, because SMTP_TO may have changed.
      const recipients = allowRecipients(body.recipients ?? own, config.SMTP_TO);
      if (recipients.length === 0) {
        throw new AppError(
          'RECIPIENT_NOT_ALLOWED',
          'SMTP_TO is empty, so nobody may receive reports',
        );
      }
      const sent = await finish(deps, deliverReport(deps, report, recipients));
      return sendData(c, 'Mailed the report', sent);
    },
  ),
  endpoint(
    {
      ...common,
      method: 'get',
      path: '/reports',
      summary: 'List your reports, newest first',
      query: z.object({
        page: integerQuery(1, Number.MAX_SAFE_INTEGER, 'Page to read, from 1.').optional(),
        limit: integerQuery(1, 50, 'Reports on a page. Default 20.').optional(),
      }),
      responses: { 200: wrapped('The reports.', z.array(report)) },
    },
    async ({ query }, { db }: ObservatoryDeps, c) => {
      const { page = 1, limit = PAGE_SIZE } = query;
      const reports = await listReports(db, c.get('user'), { page, limit });
      return sendJsonData(c, 'Read the reports', reports);
    },
  ),
  endpoint(
    {
      ...common,
      method: 'get',
      path: '/reports/:id',
      summary: 'Read one of your reports',
      idFields: ['id'],
      params: z.object({ id: uuid.meta({ description: 'Id of a report, a UUID.' }) }),
      responses: {
        200: wrapped('The report.', report),
        404: refused('You have no such report.'),
      },
    },
    async ({ params }, { db }: ObservatoryDeps, c) => {
      const report = await findReport(db, c.get('user'), params.id);
      if (report === null) throw notFound();
      return sendData(c, 'Read the report', report);
    },
  ),
];

/** Lets a delivery finish and be recorded even if the client disconnects. */
function finish<Value>(
  { waitUntil }: Pick<ObservatoryDeps, 'waitUntil'>,
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

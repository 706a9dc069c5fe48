import 'zod-openapi';
import { z } from 'zod';
import { memoize } from '../../platform/memoize.ts';
import { declareRoute, refused, wrapped } from '../declare.ts';
import { integerQuery, uuid } from '../input.ts';
import { reportTypes } from '../reports/report-types.ts';
import { MARKDOWN_MAX_LENGTH, SUBJECT_MAX_LENGTH } from '../reports/text.ts';

const common = { tag: 'Reports', access: 'user' } as const;

const timestamp = memoize(() => z.iso.datetime({ precision: 6 }));

const report = memoize(() =>
  z
    .object({
      id: z.guid(),
      report_type: z
        .enum([...reportTypes, 'custom'])
        .meta({ description: '`custom` was written by the agent of the chat or an MCP client.' }),
      subject: z.string(),
      recipients: z.array(z.string()),
      status: z.enum(['generated', 'sent', 'failed']).meta({
        description: 'How the latest delivery ended; `generated` before the first.',
      }),
      content_markdown: z.string(),
      content_html: z
        .string()
        .meta({ description: 'Safe to show: no scripts, no remote content.' }),
      created_at: timestamp(),
      sent_at: timestamp().nullable(),
      error_message: z.string().nullable(),
    })
    .meta({ id: 'Report' }),
);

/** Resend takes 50 in one mail. */
const recipients = memoize(() =>
  z
    .array(z.string().trim().min(3).max(320))
    .max(50)
    .meta({ description: 'Addresses, each of SMTP_TO.' }),
);
const subject = memoize(() => z.string().trim().min(1).max(SUBJECT_MAX_LENGTH));
const markdown = memoize(() => z.string().trim().min(1).max(MARKDOWN_MAX_LENGTH));

const deliveryFailures = memoize(() => ({
  502: refused('EMAIL_DELIVERY_FAILED: the report is kept as failed, `report_id` names it.'),
  503: refused('The database is away, or mail is not configured.'),
}));

/** POST /reports. */
export const createReportRoute = declareRoute({
  ...common,
  method: 'post',
  path: '/reports',
  summary: 'Make a report of what was backed up, and mail it when recipients are given',
  body: {
    encoding: 'json',
    schema: memoize(() =>
      z
        .object({
          report_type: z
            .string()
            .max(100)
            .meta({ description: `One of ${reportTypes.join(', ')}.`, examples: [...reportTypes] }),
          subject: subject()
            .optional()
            .meta({ description: 'Default: one that tells the result.' }),
          recipients: recipients().optional(),
          run_id: z.int().min(1).optional().meta({
            description:
              'The run that it is about; default the latest, for an investigation the latest that failed. A summary covers the 30 days up to it, by default up to now.',
          }),
          content_markdown: markdown()
            .optional()
            .meta({ description: 'Your own text in place of the one that is made.' }),
        })
        .meta({ id: 'NewReport' }),
    ),
  },
  responses: () => ({
    201: wrapped('The report.', report()),
    400: refused('Malformed input, UNKNOWN_REPORT_TYPE or RECIPIENT_NOT_ALLOWED.'),
    404: refused('No such run.'),
    409: refused('Another request mails the report now.'),
    ...deliveryFailures(),
  }),
});

/** POST /reports/send. */
export const sendReportRoute = declareRoute({
  ...common,
  method: 'post',
  path: '/reports/send',
  summary: 'Mail a report of yours, also once more',
  description:
    'The mail service takes the same report for the same recipients once in 24 hours. With REPORTS_ACCEPT_INTERNAL=true the MCP server may also send {subject, content_markdown} with X-Internal-Secret, which goes to all of SMTP_TO.',
  idFields: ['report_id'],
  body: {
    encoding: 'json',
    schema: memoize(() =>
      z
        .object({
          report_id: uuid().optional().meta({ description: 'Required with a user token.' }),
          recipients: recipients().min(1).optional().meta({
            description: 'Default: those of the report, or all of SMTP_TO when it has none.',
          }),
          subject: subject().optional().meta({ description: 'Of the MCP server alone.' }),
          content_markdown: markdown().optional().meta({ description: 'Of the MCP server alone.' }),
        })
        .meta({ id: 'ReportDelivery' }),
    ),
  },
  responses: () => ({
    200: wrapped('The report, which was mailed.', report()),
    400: refused('Malformed input, or RECIPIENT_NOT_ALLOWED.'),
    404: refused('No such report of yours.'),
    409: refused('Another request mails it now.'),
    ...deliveryFailures(),
  }),
});

/** GET /reports. */
export const listReportsRoute = declareRoute({
  ...common,
  method: 'get',
  path: '/reports',
  summary: 'List your reports, newest first',
  query: memoize(() =>
    z.object({
      page: integerQuery(1, Number.MAX_SAFE_INTEGER, 'Page to read, from 1.').optional(),
      limit: integerQuery(1, 50, 'Reports on a page. Default 20.').optional(),
    }),
  ),
  responses: () => ({ 200: wrapped('The reports.', z.array(report())) }),
});

/** GET /reports/:id. */
export const readReportRoute = declareRoute({
  ...common,
  method: 'get',
  path: '/reports/:id',
  summary: 'Read a report of yours',
  idFields: ['id'],
  params: memoize(() => z.object({ id: uuid().meta({ description: 'Id of a report, a UUID.' }) })),
  responses: () => ({
    200: wrapped('The report.', report()),
    404: refused('No such report of yours.'),
  }),
});

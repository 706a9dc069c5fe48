import type { Context } from 'hono';
import type { HttpConfig } from '../../platform/config/http.ts';
import type { MailConfig } from '../../platform/config/mail.ts';
import { carriesSecretHeader } from '../../platform/http/authentication.ts';
import { sendReportRoute } from '../routes/reports.ts';

/**
 * Is this the MCP server with a report, and does the operator let it? A request that carries a token is a
 * user's. (decisions 6, REPORTS_ACCEPT_INTERNAL)
 */
export function isInternalReport(c: Context, config: HttpConfig & MailConfig): boolean {
  return (
    config.REPORTS_ACCEPT_INTERNAL &&
    c.req.method === 'POST' &&
    c.req.path === sendReportRoute.path &&
    c.req.header('authorization') === undefined &&
    carriesSecretHeader(c, config)
  );
}

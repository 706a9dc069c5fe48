import type { Context } from 'hono';
import type { HttpConfig } from '../../config/http.ts';
import type { MailConfig } from '../../config/mail.ts';
import { hasSecretHeader } from '../../http/authentication.ts';

export const SEND_PATH = '/reports/send';

/** Whether this is an allowed report from the MCP server. A request with a token is always a user's. */
export function isInternalReport(c: Context, config: HttpConfig & MailConfig): boolean {
  return (
    config.REPORTS_ACCEPT_INTERNAL &&
    c.req.method === 'POST' &&
    c.req.path === SEND_PATH &&
    c.req.header('authorization') === undefined &&
    hasSecretHeader(c, config)
  );
}

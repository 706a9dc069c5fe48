import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withSecret } from '../../support/deps.ts';
import { useDatabase } from '../../support/hooks.ts';
import { ADDRESSES, type MailService, startMailService } from '../../support/mail.ts';
import { createObservatoryClient } from '../../support/observatory-client.ts';
import { sql } from '../../support/records.ts';

// Reports from the MCP server's tool send_backup_report.

const REPORT = { subject: 'From an agent', content_markdown: '**3** runs failed' };
const asMcp = { token: null, headers: withSecret };

const database = useDatabase();
let mail: MailService;

beforeEach(async () => {
  await sql(database.db, 'TRUNCATE reports');
  mail = await startMailService();
});
afterEach(() => mail.close());

const createClient = (REPORTS_ACCEPT_INTERNAL?: string) =>
  createObservatoryClient({
    db: database.db,
    environment: { ...mail.environment, REPORTS_ACCEPT_INTERNAL },
  });

it('reports from the MCP server are rejected by default', async () => {
  const { status } = await createClient().post('/reports/send', REPORT, asMcp);
  expect(status).toBe(401);
  expect(mail.requests).toEqual([]);
});

describe('reports from the MCP server with REPORTS_ACCEPT_INTERNAL=true', () => {
  it.each(['/reports/send', '/observatory/reports/send'])(
    'are mailed to everybody in SMTP_TO when posted to %s',
    async (path) => {
      const { status, body } = await createClient('true').post(path, REPORT, asMcp);
      expect(status).toBe(200);
      expect(body.data).toMatchObject({
        report_type: 'custom',
        status: 'sent',
        recipients: [...ADDRESSES],
        content_html: '<p><strong>3</strong> runs failed</p>\n',
      });
      expect(mail.delivered).toMatchObject([{ to: [...ADDRESSES], subject: REPORT.subject }]);
    },
  );

  it('go only to SMTP_TO', async () => {
    const client = createClient('true');
    await client.post('/reports/send', { ...REPORT, recipients: ['eve@example.org'] }, asMcp);
    expect(mail.delivered.map(({ to }) => to)).toEqual([[...ADDRESSES]]);
  });

  it("appear in no user's list", async () => {
    const client = createClient('true');
    const { body } = await client.post('/reports/send', REPORT, asMcp);
    expect((await client.get('/reports')).body.data).toEqual([]);
    expect((await client.get(`/reports/${body.data.id}`)).status).toBe(404);
  });

  it.each(['subject', 'content_markdown'])('are rejected without %s', async (path) => {
    const { status, body } = await createClient('true').post(
      '/reports/send',
      { ...REPORT, [path]: undefined },
      asMcp,
    );
    expect([status, body.error.details]).toEqual([400, [{ path, message: 'is required' }]]);
  });

  it.each([
    ['another secret', { headers: { 'X-Internal-Secret': `${'x'.repeat(40)}` } }],
    ['no secret', {}],
    ['the secret and an invalid token', { token: 'nonsense', headers: withSecret }],
  ])('are rejected with %s', async (_case, request) => {
    const answer = await createClient('true').post('/reports/send', REPORT, {
      token: null,
      ...request,
    });
    expect(answer.status).toBe(401);
  });

  it.each([
    ['GET', '/reports'],
    ['POST', '/reports'],
    ['GET', '/sessions'],
    ['PUT', '/reports/send'],
  ])('give no access to %s %s', async (method, path) => {
    expect((await createClient('true').send(method, path, asMcp)).status).toBe(401);
  });

  it('are stored as failed if they cannot be delivered', async () => {
    mail.faults = [{ status: 422 }];
    const { status, body } = await createClient('true').post('/reports/send', REPORT, asMcp);
    expect(status).toBe(502);
    const [kept] = await sql<{ status: string }>(
      database.db,
      'SELECT status FROM reports WHERE id = $1::uuid AND username IS NULL',
      [body.report_id],
    );
    expect(kept).toEqual({ status: 'failed' });
  });
});

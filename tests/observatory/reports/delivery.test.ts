import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { useDatabase } from '../../support/hooks.ts';
import { ADDRESSES, type MailService, startMailService } from '../../support/mail.ts';
import {
  createObservatoryClient,
  type ObservatoryClient,
} from '../../support/observatory-client.ts';
import { sql } from '../../support/records.ts';

const [OPS, BOSS] = ADDRESSES;
const ID = '6f3c2f1e-0c5a-4b7d-9a53-3f1f7f1d2c11';
const WRITTEN = { report_type: 'latest_backup', content_markdown: '# All is well\n\nFor now.' };

const database = useDatabase();
let mail: MailService;
let client: ObservatoryClient;

beforeAll(async () => {
  await sql(database.db, `INSERT INTO users VALUES ('grace', 'x', '2020-01-01')`);
});
beforeEach(async () => {
  await sql(database.db, 'TRUNCATE reports');
  mail = await startMailService();
  client = createObservatoryClient({ db: database.db, environment: mail.environment });
});
afterEach(() => mail.close());

const create = async (fields = {}) =>
  (await client.post('/reports', { ...WRITTEN, ...fields })).body.data;
const send = (report_id: unknown, fields = {}) =>
  client.post('/reports/send', { report_id, ...fields });
const read = async (id: string) => (await client.get(`/reports/${id}`)).body.data;

describe('POST /reports with recipients', () => {
  it('mails the report as text and HTML from SMTP_FROM, and stores it as sent', async () => {
    const { status, body } = await client.post('/reports', {
      ...WRITTEN,
      subject: 'Weekly',
      recipients: [OPS],
    });
    expect(status).toBe(201);
    expect(body.data).toMatchObject({ status: 'sent', recipients: [OPS], error_message: null });
    expect(body.data.sent_at).not.toBeNull();
    expect(mail.delivered).toEqual([
      {
        from: 'Backups <backups@example.com>',
        to: [OPS],
        subject: 'Weekly',
        text: WRITTEN.content_markdown,
        html: expect.stringContaining(body.data.content_html),
      },
    ]);
    expect(await read(body.data.id)).toEqual(body.data);
  });

  it('mails nothing without recipients', async () => {
    for (const recipients of [undefined, []]) {
      expect(await create({ recipients })).toMatchObject({ status: 'generated', sent_at: null });
    }
    expect(mail.requests).toEqual([]);
  });

  it("accepts an address in any letter case, without duplicates, and uses the operator's spelling", async () => {
    const { recipients } = await create({ recipients: ['OPS@EXAMPLE.COM', ' ops@example.com '] });
    expect(recipients).toEqual([OPS]);
    expect(mail.delivered[0]?.to).toEqual([OPS]);
  });

  it.each([
    ['another address', ['eve@example.org']],
    ['another address among allowed ones', [OPS, 'eve@example.org']],
    ['an allowed address with a name', [`Ops <${OPS}>`]],
    ['two addresses in one', [`${OPS},eve@example.org`]],
    ['an allowed address with a line break', [`${OPS}\r\nBcc: eve@example.org`]],
    ['a part of an allowed address', ['ops@example.co']],
    ['a sub-address of an allowed one', ['ops+eve@example.com']],
    ['an allowed address in other characters', ['ops@example\u3002com']],
  ])(
    'answers 400 RECIPIENT_NOT_ALLOWED to %s, and stores and mails nothing',
    async (_case, recipients) => {
      const { status, body } = await client.post('/reports', { ...WRITTEN, recipients });
      expect([status, body.error.code]).toEqual([400, 'RECIPIENT_NOT_ALLOWED']);
      expect((await client.get('/reports')).body.data).toEqual([]);
      expect(mail.requests).toEqual([]);
    },
  );

  it('allows nobody if SMTP_TO is not set', async () => {
    client = createObservatoryClient({
      db: database.db,
      environment: { ...mail.environment, SMTP_TO: undefined },
    });
    const { body } = await client.post('/reports', { ...WRITTEN, recipients: [OPS] });
    expect(body.error.code).toBe('RECIPIENT_NOT_ALLOWED');
    const { id } = await create();
    expect((await send(id)).body.error.code).toBe('RECIPIENT_NOT_ALLOWED');
    expect(mail.requests).toEqual([]);
  });

  it.each(['RESEND_API_KEY', 'SMTP_FROM'])(
    'answers 503 naming %s if it is not set, and stores nothing',
    async (name) => {
      client = createObservatoryClient({
        db: database.db,
        environment: { ...mail.environment, [name]: undefined },
      });
      const { status, body } = await client.post('/reports', { ...WRITTEN, recipients: [OPS] });
      const message = `no report can be mailed: the operator has to set ${name}`;
      expect([status, body.error.message]).toEqual([503, message]);
      expect(client.deps.logged.map((record) => record.message)).toContain(message);
      expect((await client.get('/reports')).body.data).toEqual([]);
    },
  );
});

describe('a delivery that fails', () => {
  const fails = async () => {
    const { status, body } = await client.post('/reports', { ...WRITTEN, recipients: [OPS] });
    expect([status, body.error.code]).toEqual([502, 'EMAIL_DELIVERY_FAILED']);
    const kept = await read(body.report_id);
    expect(kept).toMatchObject({ status: 'failed', sent_at: null, recipients: [OPS] });
    return kept;
  };

  it('answers 502 with the id of the report, which is stored as failed and can be sent later', async () => {
    mail.faults = [{ status: 422 }];
    const { id, error_message } = await fails();
    expect(error_message).toBe('the mail service answered 422: refused with 422');
    expect(mail.requests).toHaveLength(1);
    const again = await send(id);
    expect(again.status).toBe(200);
    expect(again.body.data).toMatchObject({ id, status: 'sent', error_message: null });
    expect(mail.delivered).toHaveLength(1);
  });

  it('is attempted twice when the service answers 5xx', async () => {
    mail.faults = [{ status: 503 }, { status: 500 }];
    expect((await fails()).error_message).toContain('answered 500');
    expect(mail.requests).toHaveLength(2);
  });

  it('records a reason on one line without the key, whatever the service answers', async () => {
    const key = mail.environment.RESEND_API_KEY?.replace('_', '\u202e_');
    const message = `no\nkey ${key}, no ghp_${'a'.repeat(36)}`;
    mail.faults = [{ status: 403, body: { statusCode: 403, name: 'x', message } }];
    const { error_message } = await fails();
    expect(error_message).toBe('the mail service answered 403: no key [redacted], no [redacted]');
  });

  it('does not follow redirects', async () => {
    const other = await startMailService();
    const redirect = { status: 307, headers: { Location: `${other.url}/emails` } };
    mail.faults = [redirect, redirect];
    await fails();
    expect(other.requests).toEqual([]);
    await other.close();
  });

  it('is given up after 15 seconds', async () => {
    mail.faults = ['hang'];
    const failing = fails();
    await vi.waitFor(() => expect(mail.requests).toHaveLength(1));
    client.deps.clock.advance(15_000);
    expect((await failing).error_message).toBe('the mail service did not answer within 15 seconds');
  });

  it.each([
    ['null in a refusal', 500, 'null', 'without a status: an unexpected body'],
    ['text in a refusal', 502, '"down"', 'without a status: an unexpected body'],
    ['a refusal with an unexpected shape', 403, { message: 'No.' }, 'without a status: No.'],
    ['a success without an id', 200, {}, 'without a status: an unexpected body'],
  ])(
    'is attempted twice and explained when the answer is %s',
    async (_case, status, body, reason) => {
      mail.faults = [
        { status, body },
        { status, body },
      ];
      expect((await fails()).error_message).toBe(`the mail service answered ${reason}`);
      expect(mail.requests).toHaveLength(2);
    },
  );

  it('is explained when nothing listens at the address', async () => {
    await mail.close();
    expect((await fails()).error_message).toBe('the mail service did not answer');
    mail = await startMailService();
  });

  it('keeps the time of an earlier delivery', async () => {
    const { id, sent_at } = await create({ recipients: [OPS] });
    mail.faults = [{ status: 422 }];
    expect((await send(id, { recipients: [BOSS] })).status).toBe(502);
    expect(await read(id)).toMatchObject({ status: 'failed', sent_at, recipients: [BOSS] });
  });
});

describe('the Idempotency-Key', () => {
  it('prevents a second mail when an answer was lost', async () => {
    mail.faults = ['lost'];
    expect(await create({ recipients: [OPS] })).toMatchObject({ status: 'sent' });
    expect(mail.requests).toHaveLength(2);
    expect(mail.delivered).toHaveLength(1);
  });

  it('is the same when a user sends the report again to the same recipients, in any order', async () => {
    const { id } = await create({ recipients: [OPS, BOSS] });
    expect((await send(id, { recipients: [BOSS, OPS] })).status).toBe(200);
    expect((await send(id)).status).toBe(200);
    expect(new Set(mail.requests.map((it) => it.idempotencyKey)).size).toBe(1);
    expect(mail.delivered).toHaveLength(1);
    expect(mail.requests[0]?.idempotencyKey).toMatch(new RegExp(`^report-${id}-[0-9a-f]{32}$`));
  });

  it('differs for other recipients and for another report', async () => {
    const { id } = await create({ recipients: [OPS] });
    await send(id, { recipients: [BOSS] });
    await create({ recipients: [OPS] });
    expect(new Set(mail.requests.map((it) => it.idempotencyKey)).size).toBe(3);
    expect(mail.delivered).toHaveLength(3);
  });

  it('prevents two processes from mailing the same report twice', async () => {
    const { id } = await create();
    const other = createObservatoryClient({ db: database.db, environment: mail.environment });
    const answers = await Promise.all([
      send(id, { recipients: [OPS] }),
      other.post('/reports/send', { report_id: id, recipients: [OPS] }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(mail.requests).toHaveLength(2);
    expect(mail.delivered).toHaveLength(1);
  });

  it('answers 409 and leaves the report unchanged while another request is using the key', async () => {
    const { id } = await create();
    const name = 'concurrent_idempotent_requests';
    mail.faults = [{ status: 409, body: { statusCode: 409, name, message: 'now' } }];
    const { status, body } = await send(id, { recipients: [OPS] });
    expect([status, body.error.code, body.report_id]).toEqual([409, 'CONFLICT', id]);
    expect(await read(id)).toMatchObject({ status: 'generated', error_message: null });
  });
});

describe('POST /reports/send', () => {
  it('mails a report without recipients to everybody in SMTP_TO', async () => {
    const { id } = await create();
    expect((await send(id)).body.data).toMatchObject({ recipients: [...ADDRESSES] });
    expect(mail.delivered[0]?.to).toEqual([...ADDRESSES]);
  });

  it('does not mail to a recipient who was removed from SMTP_TO', async () => {
    const { id } = await create({ recipients: [BOSS] });
    client = createObservatoryClient({
      db: database.db,
      environment: { ...mail.environment, SMTP_TO: OPS },
    });
    expect((await send(id)).body.error.code).toBe('RECIPIENT_NOT_ALLOWED');
    expect(mail.requests).toHaveLength(1);
  });

  it('answers 400 RECIPIENT_NOT_ALLOWED to another address', async () => {
    const { id } = await create();
    const { status, body } = await send(id, { recipients: ['eve@example.org'] });
    expect([status, body.error.code]).toEqual([400, 'RECIPIENT_NOT_ALLOWED']);
  });

  it.each(['x', '', 7, `${ID}0`])('answers 422 to the malformed report_id %j', async (id) => {
    const { status, body } = await send(id);
    expect([status, body.error.code]).toEqual([422, 'VALIDATION_ERROR']);
    expect(body.error.details[0].path).toBe('report_id');
  });

  it("answers 400 without a report_id, even to the MCP server's body", async () => {
    const { status, body } = await client.post('/reports/send', {
      subject: 'x',
      content_markdown: 'y',
    });
    expect([status, body.error.details]).toEqual([
      400,
      [{ path: 'report_id', message: 'is required' }],
    ]);
  });

  it("answers 404 to an unknown report and to another user's report", async () => {
    const { id } = await create();
    const asGrace = { token: await client.signToken('grace') };
    expect((await send(ID)).status).toBe(404);
    expect((await client.post('/reports/send', { report_id: id }, asGrace)).status).toBe(404);
    expect((await client.get(`/reports/${id}`, asGrace)).status).toBe(404);
    expect((await client.get('/reports', asGrace)).body.data).toEqual([]);
    expect(mail.requests).toEqual([]);
  });
});

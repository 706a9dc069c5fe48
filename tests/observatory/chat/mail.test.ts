import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  advanceUntilSettled,
  askStream,
  type ChatServer,
  readMessages,
  scriptChat,
  sentTo,
} from '../../support/chat.ts';
import { useDatabase } from '../../support/hooks.ts';
import { decide, type MailChat, mailCall, startMailChat } from '../../support/mail-chat.ts';
import { hasRedisServer } from '../../support/redis-server.ts';
import { startUpstashRest } from '../../support/upstash-rest.ts';

// A person approves exactly what is mailed, and is not asked about a mail that cannot be sent.

const database = useDatabase();
let chat: MailChat;

beforeEach(async () => {
  chat = await startMailChat(database);
});
afterEach(() => chat.close());

const SMTP_TO = 'Ops@example.com, boss@example.com, ops@EXAMPLE.com';
const written = { subject: 'The week', content_markdown: '# All is well' };
const callWith = (args: object) => ({ ...mailCall, args });

/** Lets the model mail this and the person approve it. */
async function approve(server: ChatServer, args: object) {
  scriptChat(chat.gateway, { calls: [callWith(args)] }, { text: ['As you say.'] });
  const client = await askStream(server, { question: 'Mail the week.' });
  const { confirm_id } = await client.until('confirm_required');
  await decide(server, confirm_id, true);
  const events = await advanceUntilSettled(server.deps, client.ended);
  return { confirm_id, events };
}

describe('a question about a mail', () => {
  it.each([
    ['left out', undefined, ['ops@EXAMPLE.com', 'boss@example.com']],
    ['null', null, ['ops@EXAMPLE.com', 'boss@example.com']],
    ['one of them, in other case', ['BOSS@example.com '], ['boss@example.com']],
    ['one twice', ['boss@example.com', 'Boss@example.com'], ['boss@example.com']],
  ])('shows the recipients when they are %s', async (_case, asked, recipients) => {
    const server = await chat.start({ SMTP_TO });
    const { events } = await approve(server, { ...written, recipients: asked });
    const args = { ...written, recipients };
    expect(events.filter((event) => 'args' in event)).toMatchObject([
      { type: 'confirm_required', args },
      { type: 'tool_start', args },
    ]);
    expect(chat.mail.received).toHaveLength(1);
    const { to } = JSON.parse(chat.mail.received[0]?.body ?? '');
    expect(to.sort()).toEqual(recipients.toSorted());
    expect((await readMessages(database.db))[1]).toMatchObject({ tool_calls: [{ args }] });
  });

  it('shows the text that is mailed, without hidden characters', async () => {
    const server = await chat.start();
    const subject = ` The\n\u202eweek ghp_${'a1B2'.repeat(9)}`;
    const { events } = await approve(server, {
      subject,
      content_markdown: '# All\u202e is\r\nwell',
    });
    const [asked] = events.filter((event) => event.type === 'confirm_required');
    const sent = JSON.parse(chat.mail.received[0]?.body ?? '');
    expect(asked?.args).toMatchObject({ subject: sent.subject, content_markdown: sent.text });
    expect(sent).toMatchObject({ subject: 'The week [redacted]', text: '# All is\nwell' });
  });

  it.skipIf(!hasRedisServer)('is stored with a hash of what it shows', async () => {
    const redis = await startUpstashRest();
    try {
      const server = await chat.start({ ...redis.environment, SMTP_TO });
      const { confirm_id, events } = await approve(server, written);
      const [asked] = events.filter((event) => event.type === 'confirm_required');
      const { content_markdown, recipients, subject } = asked?.args ?? {};
      expect(recipients).toHaveLength(2);
      const hash = createHash('sha256')
        .update(JSON.stringify({ content_markdown, recipients, subject }))
        .digest('hex');
      expect(await redis.send(['HGET', `backup:confirmation:${confirm_id}`, 'hash'])).toBe(hash);
    } finally {
      await redis.close();
    }
  });
});

describe('a mail that cannot be sent', () => {
  /** Asks for such a mail, checks that its call fails like that of any other tool, and returns the error. */
  async function fail(server: ChatServer, args: unknown): Promise<string> {
    scriptChat(chat.gateway, { calls: [{ ...mailCall, args }] }, { text: ['Hm.'] });
    const events = await (await askStream(server, { question: 'Mail.' })).ended;
    expect(events.map(({ type }) => type)).toEqual([
      'info',
      'agent_reasoning',
      'tool_start',
      'tool_end',
      'agent_reasoning',
      'token',
      'done',
    ]);
    const of = { name: 'send_report_email', tool_call_id: 'call_mail' };
    expect(events[2]).toMatchObject(of);
    expect(events[3]).toMatchObject({ ...of, success: false, duration_ms: 0 });
    expect(chat.mail.received).toHaveLength(0);
    const [, stored] = await readMessages(database.db);
    const error = String(stored?.tool_calls[0]?.error);
    expect(events[3]).toMatchObject({ error });
    // The model reads the error and can correct itself.
    expect(sentTo(chat.gateway, 1).at(-1)?.content).toContain(error);
    return error;
  }

  it.each<[string, unknown, string]>([
    ['no subject', { content_markdown: 'c' }, 'subject'],
    ['an empty list of recipients', { ...written, recipients: [] }, 'recipients'],
    ['a field that it does not have', { ...written, cc: ['eve@example.org'] }, 'cc'],
    ['an invisible subject', { ...written, subject: '\u202e' }, 'subject'],
    ['text that is not JSON', '{"subject":', 'JSON'],
  ])('is not asked about when the call has %s', async (_case, args, named) => {
    const error = await fail(await chat.start({ SMTP_TO }), args);
    expect(error).toContain(named);
  });

  it('is not asked about when a recipient is not allowed, and the model is told who is', async () => {
    const server = await chat.start({ SMTP_TO });
    const recipients = ['boss@example.com', 'eve@example.org'];
    expect(await fail(server, { ...written, recipients })).toBe(
      'eve@example.org may not receive reports: SMTP_TO allows ops@EXAMPLE.com, boss@example.com',
    );
  });

  it.each(['RESEND_API_KEY', 'SMTP_FROM', 'SMTP_TO'])(
    'is not asked about without %s',
    async (name) => {
      const server = await chat.start({ [name]: '' });
      const fault = `no report can be mailed: the operator has to set ${name}`;
      expect(await fail(server, { ...written, recipients: ['ops@example.com'] })).toBe(fault);
      expect(sentTo(chat.gateway, 0)[0]?.content).toContain(fault);
    },
  );
});

describe('the description of send_report_email', () => {
  const tell = async (addresses: string) => {
    const server = await chat.start({ SMTP_TO: addresses });
    scriptChat(chat.gateway, { text: ['Yes.'] });
    await (await askStream(server, { question: 'Well?' })).ended;
    return sentTo(chat.gateway, 0)[0]?.content ?? '';
  };

  it('tells the model who may receive reports before it calls the tool', async () => {
    const told = await tell('ops@example.com,boss@example.com');
    expect(told).toContain('without recipients all of them do: ops@example.com, boss@example.com.');
  });

  it('is limited in length', async () => {
    const long = Array.from({ length: 50 }, (_, n) => `${'x'.repeat(50)}${n}@example.com`);
    const bare = (await tell('ops@example.com')).length;
    await chat.close();
    chat = await startMailChat(database);
    const told = await tell(long.join());
    expect(told).toContain(long[0]);
    expect(told).toMatch(/ and 2\d more\./);
    expect(told.length - bare).toBeLessThan(1_600);
  });
});

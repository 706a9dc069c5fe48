import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../lib/clock.ts';
import {
  addressesAt,
  leadTo,
  makeMessage,
  openChannel,
  patient,
  SECRETS,
  WEBHOOK_SECRET,
} from '../../support/alert-channels.ts';
import { type MailService, startMailService } from '../../support/mail.ts';
import { type ScriptedServer, startScriptedServer } from '../../support/scripted-server.ts';

// The request to each service, in the shape that the service documents.

let server: ScriptedServer;

beforeEach(async () => {
  server = await startScriptedServer(() => ({ status: 200, body: 'ok' }));
});
afterEach(() => server.close());

/** Sends through a channel of some kind, and returns the request. */
async function ask(kind: string, message = makeMessage()) {
  const channel = await openChannel(addressesAt(server)[kind] ?? '');
  await channel.send(message, patient);
  const [request] = server.received;
  if (!request || server.received.length > 1) throw new Error('there was not one request');
  expect(request.method).toBe('POST');
  expect(request.headers['content-type']).toBe('application/json');
  return { ...request, json: JSON.parse(request.body) };
}

describe('a message', () => {
  it('goes to Slack as blocks without markup, with the text for notifications', async () => {
    const slack = await openChannel(`slack://T000000/B000000/${SECRETS[0]}`, {
      fetch: leadTo(server),
    });
    await slack.send(makeMessage(), patient);
    const title = '🔴 2 repositories are failing';
    const lines = 'acme/app: authentication failed\nacme/web: not found';
    const link =
      '<https://backups.example.com/app/incidents/7?a=1&amp;b=2|Open Backup Observatory>';
    expect(JSON.parse(server.received.at(-1)?.body ?? '')).toEqual({
      text: `${title}\n${lines}`,
      blocks: [
        { type: 'header', text: { type: 'plain_text', text: title, emoji: false } },
        { type: 'section', text: { type: 'plain_text', text: lines, emoji: false } },
        { type: 'section', text: { type: 'mrkdwn', text: link } },
      ],
      mrkdwn: false,
      unfurl_links: false,
      unfurl_media: false,
    });
  });

  it('goes to a Slack-compatible program with Markdown in its text', async () => {
    const { path, json } = await ask('slack');
    expect(path).toBe(`/services/T000/B000/${SECRETS[0]}`);
    expect(json.mrkdwn).toBe(true);
    expect(json.text.split('\n')).toEqual([
      '**🔴 2 repositories are failing**',
      'acme/app: authentication failed',
      'acme/web: not found',
      '<https://backups.example.com/app/incidents/7?a=1&amp;b=2|Open Backup Observatory>',
    ]);
  });

  it('goes to Matrix as text and HTML, under one transaction for every attempt', async () => {
    const channel = await openChannel(addressesAt(server).matrix ?? '');
    await channel.send(makeMessage(), patient);
    await channel.send(makeMessage(), patient);
    await channel.send(makeMessage({ id: 'incident-8-opened' }), patient);
    const [first, second, other] = server.received;
    expect(first?.method).toBe('PUT');
    expect(first?.path).toMatch(
      /^\/base\/_matrix\/client\/v3\/rooms\/!roomOfTests%3Aexample\.com\/send\/m\.room\.message\/[0-9a-f]{64}$/,
    );
    expect(first?.headers.authorization).toBe(`Bearer ${SECRETS[8]}`);
    expect([second?.path, second?.body]).toEqual([first?.path, first?.body]);
    expect(other?.path).not.toBe(first?.path);
    expect(JSON.parse(first?.body ?? '')).toEqual({
      msgtype: 'm.text',
      body: [
        '🔴 2 repositories are failing',
        'acme/app: authentication failed',
        'acme/web: not found',
        'https://backups.example.com/app/incidents/7?a=1&b=2',
      ].join('\n'),
      format: 'org.matrix.custom.html',
      formatted_body: [
        '<strong>🔴 2 repositories are failing</strong>',
        'acme/app: authentication failed',
        'acme/web: not found',
        '<a href="https://backups.example.com/app/incidents/7?a=1&amp;b=2">Open Backup Observatory</a>',
      ].join('<br>'),
      'm.mentions': {},
    });
  });

  it('goes to Discord without mentions and previews', async () => {
    const { path, json } = await ask('discord');
    expect(path).toBe(`/api/webhooks/112233445566/${SECRETS[1]}?wait=true`);
    expect(json).toEqual({
      content: [
        '🔴 **2 repositories are failing**',
        'acme/app: authentication failed\nacme/web: not found',
        '<https://backups.example.com/app/incidents/7?a=1&b=2>',
      ].join('\n'),
      allowed_mentions: { parse: [] },
      flags: 4,
    });
  });

  it('goes to Telegram without markup, to the topic of the chat', async () => {
    const { path, json } = await ask('telegram');
    expect(path).toBe(`/bot${SECRETS[2]}/sendMessage`);
    expect(json).toEqual({
      chat_id: '-100200300',
      message_thread_id: 7,
      text: [
        '🔴 2 repositories are failing',
        'acme/app: authentication failed\nacme/web: not found',
        'https://backups.example.com/app/incidents/7?a=1&b=2',
      ].join('\n'),
      entities: [{ type: 'pre', offset: 30, length: 51 }],
      link_preview_options: { is_disabled: true },
    });
  });

  it('goes to ntfy as JSON, with the token', async () => {
    const { path, headers, json } = await ask('ntfy');
    expect([path, headers.authorization]).toEqual(['/', `Bearer ${SECRETS[3]}`]);
    expect(json).toEqual({
      topic: 'backups',
      title: '2 repositories are failing',
      message: 'acme/app: authentication failed\nacme/web: not found',
      priority: 5,
      tags: ['rotating_light'],
      click: 'https://backups.example.com/app/incidents/7?a=1&b=2',
    });
  });

  it('goes to Gotify with the token in a header', async () => {
    const { path, headers, json } = await ask('gotify');
    expect([path, headers['x-gotify-key']]).toEqual(['/base/message', SECRETS[4]]);
    expect(json).toEqual({
      title: '🔴 2 repositories are failing',
      message: 'acme/app: authentication failed\nacme/web: not found',
      priority: 8,
      extras: {
        'client::display': { contentType: 'text/plain' },
        'client::notification': {
          click: { url: 'https://backups.example.com/app/incidents/7?a=1&b=2' },
        },
      },
    });
  });

  it('goes to an Apprise API with its tags', async () => {
    const { path, json } = await ask('apprise');
    expect(path).toBe(`/notify/${SECRETS[5]}`);
    expect(json).toEqual({
      title: '2 repositories are failing',
      body: 'acme/app: authentication failed\nacme/web: not found\nhttps://backups.example.com/app/incidents/7?a=1&b=2',
      type: 'failure',
      format: 'text',
      tag: 'ops',
    });
  });

  it('goes to a webhook with a signature of Standard Webhooks', async () => {
    const { path, json } = await ask('webhook');
    expect(path).toBe(`/hooks/${SECRETS[6]}?to=ops`);
    expect(json).toEqual({
      type: 'alert.opened',
      timestamp: '2026-03-04T05:06:07.000Z',
      data: {
        id: 'incident-7-opened',
        severity: 'critical',
        title: '2 repositories are failing',
        lines: ['acme/app: authentication failed', 'acme/web: not found'],
        omitted_lines: 0,
        link: 'https://backups.example.com/app/incidents/7?a=1&b=2',
      },
    });
  });

  it('goes to a webhook with a signature that the Standard Webhooks library verifies', async () => {
    const channel = await openChannel(addressesAt(server).webhook ?? '', { clock: systemClock });
    await channel.send(makeMessage({ id: 'a.b c' }), patient);
    const { headers, body = '' } = server.received[0] ?? {};
    const signed = headers as Record<string, string>;
    expect(signed['webhook-id']).toBe('a%2Eb%20c');
    const webhook = new Webhook(WEBHOOK_SECRET);
    expect(webhook.verify(body, signed)).toMatchObject({ type: 'alert.opened' });
    expect(() => webhook.verify(body.replace('critical', 'info'), signed)).toThrow();
    const another = new Webhook(`whsec_${btoa('another secret of 24 byte')}`);
    expect(() => another.verify(body, signed)).toThrow();
  });

  it('differs from one about an incident that was resolved', async () => {
    const message = makeMessage({ kind: 'resolved', severity: 'critical' });
    const { json } = await ask('apprise', message);
    expect(json.type).toBe('success');
    const slack = await openChannel(addressesAt(server).slack ?? '');
    await slack.send(message, patient);
    expect(server.received.at(-1)?.body).toContain('🟢');
  });
});

describe('ntfy.sh and the other public services', () => {
  it.each([
    [`slack://T000000/B000000/${SECRETS[0]}`, `/services/T000000/B000000/${SECRETS[0]}`],
    [
      `https://hooks.slack.com/services/T000000/B000000/${SECRETS[0]}`,
      `/services/T000000/B000000/${SECRETS[0]}`,
    ],
    [`discord://112233445566/${SECRETS[1]}`, `/api/webhooks/112233445566/${SECRETS[1]}?wait=true`],
    [
      `https://discord.com/api/webhooks/112233445566/${SECRETS[1]}`,
      `/api/webhooks/112233445566/${SECRETS[1]}?wait=true`,
    ],
    [`tgram://${SECRETS[2]}/@my_channel`, `/bot${SECRETS[2]}/sendMessage`],
    ['ntfy://my-secret-topic', '/'],
  ])('are reached at the right path for %s', async (address, path) => {
    const channel = await openChannel(address, { fetch: leadTo(server) });
    await channel.send(makeMessage(), patient);
    expect(server.received.map((request) => request.path)).toEqual([path]);
  });
});

describe('a mail', () => {
  let mail: MailService;

  beforeEach(async () => {
    mail = await startMailService();
  });
  afterEach(() => mail.close());

  it('is sent as text and HTML, with the same key when it is repeated', async () => {
    const channel = await openChannel('mailto:ops@example.com', { environment: mail.environment });
    const message = makeMessage({ title: 'R&D <b>', lines: ['acme/<i>app</i> "failed"'] });
    await channel.send(message, patient);
    await channel.send(message, patient);
    await channel.send({ ...message, id: 'another' }, patient);
    expect(mail.delivered).toHaveLength(2);
    const [sent] = mail.delivered;
    expect(sent).toMatchObject({
      from: 'Backups <backups@example.com>',
      to: ['ops@example.com'],
      subject: 'R&D <b>',
    });
    expect(sent?.text).toContain('acme/<i>app</i> "failed"');
    expect(sent?.html).toContain('R&amp;D &lt;b&gt;');
    expect(sent?.html).toContain('acme/&lt;i&gt;app&lt;/i&gt; &quot;failed&quot;');
    expect(sent?.html).toContain('href="https://backups.example.com/app/incidents/7?a=1&amp;b=2"');
  });

  it('has a single line as its subject, whatever the title is', async () => {
    const channel = await openChannel('mailto:ops@example.com', { environment: mail.environment });
    await channel.send(makeMessage({ title: 'failing\r\nBcc: all@example.com' }), patient);
    expect(mail.delivered[0]?.subject).toBe('failing Bcc: all@example.com');
  });

  it.each(['RESEND_API_KEY', 'SMTP_FROM'])('cannot be sent without %s', async (name) => {
    const environment = { ...mail.environment, [name]: undefined };
    const channel = await openChannel('mailto:ops@example.com', { environment });
    await expect(channel.send(makeMessage(), patient)).rejects.toMatchObject({
      message: 'no mail can be sent: set RESEND_API_KEY and SMTP_FROM',
      retryable: true,
      mayHaveArrived: false,
    });
  });

  it('reports why it was refused, without the key', async () => {
    const key = mail.environment.RESEND_API_KEY;
    mail.faults.push({ status: 403, body: { message: 'example.com is not verified' } });
    mail.faults.push({ status: 401, body: { message: `wrong key ${key}` } });
    const channel = await openChannel('mailto:ops@example.com', { environment: mail.environment });
    await expect(channel.send(makeMessage(), patient)).rejects.toMatchObject({
      message: 'the mail service answered 403: example.com is not verified',
      retryable: false,
    });
    await expect(channel.send(makeMessage(), patient)).rejects.toThrow(
      /^the mail service answered 401(?!.*re_of_tests)/,
    );
  });
});

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { channelKinds } from '../../lib/channels/kinds.ts';
import { hashPassword } from '../../lib/security/password.ts';
import { addUser } from '../../lib/users/users.ts';
import { addressesAt, SECRETS } from '../support/alert-channels.ts';
import { useDatabase } from '../support/hooks.ts';
import { createObservatoryClient, type ObservatoryAnswer } from '../support/observatory-client.ts';
import { QUICK_COST } from '../support/passwords.ts';
import { sql } from '../support/records.ts';
import {
  type ScriptedAnswer,
  type ScriptedServer,
  startScriptedServer,
} from '../support/scripted-server.ts';

// Ada is AUTH_USERNAME; grace is in the table.

const database = useDatabase();
let server: ScriptedServer;
let answer: ScriptedAnswer;
let client: ReturnType<typeof createObservatoryClient>;

beforeEach(async () => {
  await sql(database.db, 'DELETE FROM alert_channels');
  answer = { status: 200 };
  server = await startScriptedServer(() => answer);
  client = clientWith({ ALERT_CHANNELS: `ops=${addressesAt(server).slack}` });
});
afterEach(() => server.close());

const clientWith = (environment: Record<string, string | undefined>) =>
  createObservatoryClient({ db: database.db, environment });

const codeOf = ({ status, body }: ObservatoryAnswer) => [status, body.error?.code];
const add = (name: string, kind = 'gotify') =>
  client.post('/alert-channels', { name, address: addressesAt(server)[kind] });

function expectNoSecret(text: string): void {
  for (const secret of SECRETS) expect(text).not.toContain(secret);
}

describe('the alert channels', () => {
  it('are listed without their addresses', async () => {
    expect((await add('at night')).status).toBe(201);
    const { text, body } = await client.get('/alert-channels');
    const place = new URL(server.url).host;
    expect(body.data).toEqual({
      may_add: true,
      why_not: null,
      channels: [
        {
          ...{ name: 'ops', kind: 'slack', place, source: 'variable', fault: null },
          ...{ created_by: null, created_at: null },
        },
        {
          ...{ name: 'at night', kind: 'gotify', place, source: 'page', fault: null },
          ...{ created_by: 'ada', created_at: expect.any(String) },
        },
      ],
      kinds: channelKinds.map(({ kind, label, example }) => ({ kind, label, example })),
    });
    expectNoSecret(text);
  });

  it('report what they lack', async () => {
    await add('one');
    const ALERT_CHANNELS = 'mailto:ops@example.com';
    const without = clientWith({ CREDENTIALS_ENCRYPTION_KEY: undefined, ALERT_CHANNELS });
    const { body } = await without.get('/alert-channels');
    expect(body.data.may_add).toBe(false);
    expect(body.data.why_not).toBe('CREDENTIALS_ENCRYPTION_KEY not set');
    expect(body.data.channels.map(({ fault }: { fault: string }) => fault)).toEqual([
      'no mail can be sent: set RESEND_API_KEY and SMTP_FROM',
      'CREDENTIALS_ENCRYPTION_KEY is not set: its address cannot be read',
    ]);
    const attempt = await without.post('/alert-channels', {
      ...{ name: 'two', address: 'ntfy://a-topic-of-tests' },
    });
    expect(codeOf(attempt)).toEqual([503, 'CREDENTIAL_STORAGE_UNAVAILABLE']);
  });

  it('can be removed, except those of ALERT_CHANNELS', async () => {
    await add('one');
    expect((await client.send('DELETE', '/alert-channels/one')).status).toBe(200);
    expect(codeOf(await client.send('DELETE', '/alert-channels/one'))).toEqual([404, 'NOT_FOUND']);
    expect(codeOf(await client.send('DELETE', '/alert-channels/ops'))).toEqual([409, 'CONFLICT']);
    expect((await client.get('/alert-channels')).body.data.channels).toHaveLength(1);
  });

  it.each([
    ['a name that is taken', 'OPS', undefined, 409],
    ['no name', '', undefined, 400],
    ['a blank name', ' ', undefined, 400],
    ['a name with other characters', 'a/b', undefined, 400],
    ['a long name', 'x'.repeat(41), undefined, 400],
    ['no address', 'one', '', 400],
    ['an invalid address', 'one', 'hunter2', 400],
    ["the address of a cloud's metadata", 'one', 'ntfy+http://169.254.169.254/x', 400],
    ['a mail address that is not in SMTP_TO', 'one', 'mailto:hunter2@example.com', 400],
  ])('reject %s', async (_fault, name, given, status) => {
    const address = given ?? addressesAt(server).gotify;
    const refused = await client.post('/alert-channels', { name, address });
    expect(refused.status).toBe(status);
    expect(refused.text).not.toContain('hunter2');
    expect(await sql(database.db, 'SELECT FROM alert_channels')).toEqual([]);
  });
});

describe('a test message', () => {
  const tryOut = (name: string) => client.send('POST', `/alert-channels/${name}/test`);

  it.each([
    ['ops', '/services/T000/B000/'],
    ['one', '/base/message'],
  ])('is sent through %s', async (name, path) => {
    await add('one');
    const { body } = await tryOut(name);
    expect(body.data).toEqual({ name, sent: true, reason: null });
    expect(server.received).toHaveLength(1);
    expect(server.received[0]?.path).toContain(path);
    expect(server.received[0]?.body).toContain(`through the channel ${name}`);
  });

  it('links to the page, as alerts do', async () => {
    const PUBLIC_URL = 'https://backups.example.com/base';
    client = clientWith({ ALERT_CHANNELS: `ops=${addressesAt(server).gotify}`, PUBLIC_URL });
    await tryOut('ops');
    expect(server.received[0]?.body).toContain(`"${PUBLIC_URL}/app/incidents"`);
  });

  it("says why it was not sent, without the server's answer", async () => {
    await add('one');
    answer = { status: 404, body: { message: 'the inner life of another server' } };
    const { text, body } = await tryOut('one');
    expect(body.data).toEqual({ name: 'one', sent: false, reason: 'Gotify answered 404' });
    expect(text).not.toContain('inner life');
    expectNoSecret(JSON.stringify(client.deps.logged));
  });

  it('is given up after 10 seconds', async () => {
    await add('one');
    answer = () => client.deps.clock.advance(10_000);
    const { body } = await tryOut('one');
    expect(body.data.reason).toBe('gotify did not answer within 10 seconds');
  });

  it('needs an existing channel', async () => {
    expect(codeOf(await tryOut('none'))).toEqual([404, 'NOT_FOUND']);
  });
});

it('users other than AUTH_USERNAME may neither see nor change channels, whether or not they exist', async () => {
  await sql(database.db, 'DELETE FROM users');
  await addUser(database.db, 'grace', await hashPassword('the password of grace', QUICK_COST));
  const { body } = await client.login('grace', 'the password of grace');
  const grace = { token: body.access_token };
  const channel = { name: 'one', address: addressesAt(server).gotify };
  const answers = [
    await client.get('/alert-channels', grace),
    await client.post('/alert-channels', channel, grace),
  ];
  for (const name of ['ops', 'none']) {
    answers.push(await client.send('DELETE', `/alert-channels/${name}`, grace));
    answers.push(await client.send('POST', `/alert-channels/${name}/test`, grace));
  }
  for (const refused of answers) expect(codeOf(refused)).toEqual([403, 'FORBIDDEN']);
  expect(server.received).toEqual([]);
  expect(await sql(database.db, 'SELECT FROM alert_channels')).toEqual([]);
});

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { guardFetch } from '../../../lib/alerts/channels/guarded-fetch.ts';
import { openAlertChannels } from '../../../lib/alerts/channels/open-channels.ts';
import { readStoredChannels, storeChannel } from '../../../lib/alerts/channels/stored-channels.ts';
import { alertSendingVariables } from '../../../lib/config/alert-channels.ts';
import { type Environment, readConfig } from '../../../lib/config/read.ts';
import { removeAlertChannel } from '../../../lib/records/alerts/alert-channels.ts';
import { addressesAt, makeMessage, patient, SECRETS } from '../../support/alert-channels.ts';
import { createTestClock } from '../../support/clock.ts';
import { useDatabase } from '../../support/hooks.ts';
import { sql } from '../../support/records.ts';
import { type ScriptedServer, startScriptedServer } from '../../support/scripted-server.ts';

const database = useDatabase();
const clock = createTestClock();
const [KEY, OTHER] = [7, 8].map((byte) => Buffer.alloc(32, byte).toString('base64'));
let server: ScriptedServer;

beforeEach(async () => {
  await sql(database.db, 'DELETE FROM alert_channels');
  server = await startScriptedServer(() => ({ status: 200 }));
});
afterEach(() => server.close());

const configOf = (environment: Environment = {}) =>
  readConfig(alertSendingVariables, { CREDENTIALS_ENCRYPTION_KEY: KEY, ...environment });

const store = (name: string, address: string, environment?: Environment) =>
  storeChannel(
    { db: database.db, config: configOf(environment) },
    { name, address, createdBy: 'ada' },
  );

const open = (environment?: Environment, resolve?: () => Promise<string[]>) =>
  openAlertChannels(configOf(environment), {
    ...{ db: database.db, fetch, clock },
    ...(resolve ? { resolve } : {}),
  });

const addresses = () => addressesAt(server);

describe('a channel of the dashboard', () => {
  it('is opened after those of ALERT_CHANNELS, and sends', async () => {
    await store('at night', addresses().gotify ?? '');
    const channels = await open({ ALERT_CHANNELS: addresses().ntfy });
    expect(channels.map(({ name, kind }) => [name, kind])).toEqual([
      ['ntfy-1', 'ntfy'],
      ['at night', 'gotify'],
    ]);
    await channels[1]?.send(makeMessage(), patient);
    expect(server.received.map(({ path }) => path)).toEqual(['/base/message']);
  });

  it('is left out while the database is unreachable', async () => {
    const config = configOf({ ALERT_CHANNELS: addresses().ntfy });
    const channels = await openAlertChannels(config, { db: null, fetch, clock });
    expect(channels.map(({ name }) => name)).toEqual(['ntfy-1']);
  });

  it('has its address sealed in the table, bound to its row', async () => {
    await store('one', addresses().gotify ?? '');
    await store('two', addresses().slack ?? '');
    const rows = await sql(database.db, 'SELECT * FROM alert_channels');
    for (const secret of SECRETS) expect(JSON.stringify(rows)).not.toContain(secret);
    await sql(
      database.db,
      `UPDATE alert_channels SET sealed_address =
         (SELECT sealed_address FROM alert_channels WHERE name = 'one')`,
    );
    const faults = (await readStoredChannels({ db: database.db, config: configOf() })).map(
      ({ name, fault }) => [name, fault === null],
    );
    expect(faults).toEqual([
      ['one', true],
      ['two', false],
    ]);
  });

  it.each([
    ['without the key', { CREDENTIALS_ENCRYPTION_KEY: '' }, /KEY is not set/],
    ['with another key', { CREDENTIALS_ENCRYPTION_KEY: OTHER }, /encrypted with another/],
  ])(
    'reports whenever it is used that it cannot be read %s',
    async (_case, environment, message) => {
      await store('one', addresses().gotify ?? '');
      const [channel] = await open(environment);
      const sending = channel?.send(makeMessage(), patient);
      await expect(sending).rejects.toMatchObject({
        name: 'ChannelError',
        message: expect.stringMatching(message),
        retryable: true,
        mayHaveArrived: false,
      });
      expect(server.received).toEqual([]);
    },
  );

  it('is sealed again with the current key during a key rotation', async () => {
    await store('one', addresses().gotify ?? '');
    await open({ CREDENTIALS_ENCRYPTION_KEY: `${OTHER},${KEY}` });
    const [channel] = await open({ CREDENTIALS_ENCRYPTION_KEY: OTHER });
    await channel?.send(makeMessage(), patient);
    expect(server.received).toHaveLength(1);
  });

  it('gets a different name if ALERT_CHANNELS uses its name later', async () => {
    await store('Ops', addresses().gotify ?? '');
    const channels = await open({ ALERT_CHANNELS: `ops=${addresses().ntfy}` });
    expect(channels.map(({ name }) => name)).toEqual(['ops', 'Ops (page)']);
  });

  it('mails only to an address in SMTP_TO, now and later', async () => {
    const allowed = { SMTP_TO: 'Ops@example.com' };
    await expect(store('mail', 'mailto:x@example.com', allowed)).rejects.toThrow(
      'address is not one of SMTP_TO',
    );
    await store('mail', 'mailto:ops@example.com', allowed);
    const [channel] = await open({ SMTP_TO: 'boss@example.com' });
    await expect(channel?.send(makeMessage(), patient)).rejects.toThrow('is not one of SMTP_TO');
  });
});

describe('storing a channel', () => {
  it.each([
    ['without a key', { CREDENTIALS_ENCRYPTION_KEY: '' }, 'x', 'CREDENTIAL_STORAGE_UNAVAILABLE'],
    ['with an invalid address', {}, 'slack://hunter2', 'VALIDATION_ERROR'],
  ])('fails %s', async (_fault, environment, address, code) => {
    const attempt = store('one', address, environment);
    await expect(attempt).rejects.toMatchObject({ code });
    await expect(attempt).rejects.not.toThrow(/hunter2/);
  });

  it('fails for a name that is taken, in any letter case', async () => {
    const environment = { ALERT_CHANNELS: `ops=${addresses().ntfy}` };
    const gotify = addresses().gotify ?? '';
    await expect(store('OPS', gotify, environment)).rejects.toMatchObject({ code: 'CONFLICT' });
    await store('one', gotify);
    await expect(store('ONE', gotify)).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(await sql(database.db, 'SELECT name FROM alert_channels')).toEqual([{ name: 'one' }]);
  });

  it('fails for a 21st channel until one is removed', async () => {
    const gotify = addresses().gotify ?? '';
    for (let n = 0; n < 20; n++) await store(`channel ${n}`, gotify);
    await expect(store('one more', gotify)).rejects.toThrow('there are already 20 channels');
    const [{ id } = { id: '' }] = await readStoredChannels({
      db: database.db,
      config: configOf(),
    });
    expect(await removeAlertChannel(database.db, id)).toBe(true);
    expect(await removeAlertChannel(database.db, id)).toBe(false);
    await store('one more', gotify);
  });
});

describe('an address of the dashboard', () => {
  it.each([
    ['169.254.169.254'],
    ['fe80::1'],
    ['fd00:ec2::254'],
    ['100.100.100.200'],
    ['::ffff:169.254.169.254'],
  ])('is not contacted under a name that leads to %s', async (address) => {
    await store('one', addresses().gotify ?? '');
    const [channel] = await open({}, async () => ['192.0.2.7', address]);
    await expect(channel?.send(makeMessage(), patient)).rejects.toMatchObject({
      message: 'the address leads to a link-local address',
      retryable: false,
    });
    expect(server.received).toEqual([]);
  });

  it('may be in the local network', async () => {
    const asked: unknown[] = [];
    const guarded = guardFetch(
      async (input) => {
        asked.push(String(input));
        return new Response();
      },
      async () => ['192.168.1.5', 'fd12::5'],
    );
    await guarded('http://nas/x');
    expect(asked).toEqual(['http://nas/x']);
  });
});

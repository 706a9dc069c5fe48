import { readdir } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { storeChannel } from '../../lib/alerts/channels/stored-channels.ts';
import { alertSendingVariables } from '../../lib/config/alert-channels.ts';
import { readConfig } from '../../lib/config/read.ts';
import { addressesAt, SECRETS } from '../support/alert-channels.ts';
import { useSharedFolder } from '../support/folders.ts';
import { useDatabase } from '../support/hooks.ts';
import { sql } from '../support/records.ts';
import { runScript } from '../support/script.ts';
import { type ScriptedServer, startScriptedServer } from '../support/scripted-server.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');
const folder = useSharedFolder();
const database = useDatabase();
let server: ScriptedServer;

beforeEach(async () => {
  server = await startScriptedServer(({ path }) => ({ status: path === '/notify/' ? 200 : 204 }));
  await sql(database.db, 'DELETE FROM alert_channels');
});
afterEach(() => server.close());

const alerts = (args: string[], env: Record<string, string>) =>
  runScript('alerts', { args, cwd: folder, env });

/** Two channels in ALERT_CHANNELS, one of them an Apprise API with nothing under its key, and one added on the page. */
async function setUp(): Promise<Record<string, string>> {
  const { slack, apprise, gotify = '' } = addressesAt(server);
  const env = {
    DATABASE_URL: database.url,
    CREDENTIALS_ENCRYPTION_KEY: KEY,
    ALERT_CHANNELS: `${slack} family=${apprise}`,
  };
  const config = readConfig(alertSendingVariables, env);
  const channel = { name: 'at night', address: gotify, createdBy: 'ada' };
  await storeChannel({ db: database.db, config }, channel);
  return env;
}

describe('npm run alerts', () => {
  it('lists the channels without their addresses', async () => {
    const { code, stdout, stderr } = await alerts(['list'], await setUp());
    const host = new URL(server.url).host;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.trim().split('\n')).toEqual([
      `slack-1\tslack\t${host}\tALERT_CHANNELS`,
      `family\tapprise\t${host}\tALERT_CHANNELS`,
      `at night\tgotify\t${host}\tpage`,
    ]);
    for (const secret of SECRETS) expect(stdout).not.toContain(secret);
  });

  it('tests all channels, prints a line for each, and fails if one fails', async () => {
    const PUBLIC_URL = 'https://backups.example.com';
    const { code, stdout } = await alerts(['test'], { ...(await setUp()), PUBLIC_URL });
    expect(code).toBe(1);
    expect(stdout.trim().split('\n')).toEqual([
      'slack-1: sent',
      'family: not sent: the Apprise API has nothing under this key',
      'at night: sent',
    ]);
    expect(server.received).toHaveLength(3);
    for (const { body } of server.received) expect(body).toContain(`${PUBLIC_URL}/app/incidents`);
  });

  it('tests only the named channel', async () => {
    const env = await setUp();
    const { code, stdout } = await alerts(['test', 'at night'], env);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'at night: sent\n' });
    expect(server.received.map(({ path }) => path)).toEqual(['/base/message']);
    const unknown = await alerts(['test', 'none'], env);
    expect(unknown.code).toBe(1);
    expect(unknown.stderr).toContain('there is no such channel');
  });

  it('tests the channels in ALERT_CHANNELS while the database is unreachable, and fails', async () => {
    const DATABASE_URL = 'postgres://nobody:secret-of-nobody@127.0.0.1:1/none';
    const { code, stdout, stderr } = await alerts(['test', 'slack-1'], {
      ...(await setUp()),
      DATABASE_URL,
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: 'slack-1: sent\n' });
    expect(stderr).toMatch(/^the channels added on the page cannot be read: /m);
    expect(stderr).not.toContain('secret-of-nobody');
  });

  it('needs no database, and creates none', async () => {
    const { slack = '' } = addressesAt(server);
    const { code, stdout } = await alerts(['test'], { ALERT_CHANNELS: slack });
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'slack-1: sent\n' });
    expect(await readdir(folder)).toEqual([]);
    const none = await alerts(['test'], {});
    expect(none.code).toBe(1);
    expect(none.stderr).toContain('no channels yet: set ALERT_CHANNELS');
  });

  it('rejects an invalid address, giving its position', async () => {
    const { code, stderr } = await alerts(['test'], { ALERT_CHANNELS: 'slack://hunter2-hunter2' });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^ALERT_CHANNELS must be a list of channels, but entry 1 \(slack\)/);
    expect(stderr).not.toContain('hunter2');
  });
});

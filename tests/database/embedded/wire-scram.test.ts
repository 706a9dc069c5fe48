import { spawnSync } from 'node:child_process';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EmbeddedDatabase } from '../../../lib/database/embedded/open.ts';
import { cstrings, frame } from '../../../lib/database/embedded/wire-messages.ts';
import { createTestClock } from '../../support/clock.ts';
import { createEmbedded } from '../../support/databases.ts';
import { connectRaw } from '../../support/raw-client.ts';

/** A machine that is busy takes longer to start a statement. */
const patience = { timeout: 30_000 };
const clock = createTestClock();
const password = 'a/long:pass@word';
let db: EmbeddedDatabase;
let close: () => Promise<void>;
let url: string;
beforeAll(async () => {
  const listen = { port: 0, password };
  ({ db, close } = await createEmbedded({ migrated: false, listen, clock }));
  url = db.portUrl ?? '';
});
afterAll(() => close());

const port = () => Number(new URL(url).port);
const version = Buffer.from([0, 3, 0, 0]);
const startup = frame('?', Buffer.concat([version, cstrings('user', 'postgres', '')]))
  .toString('latin1')
  .slice(1);
const firstMessage = 'n,,n=,r=nonce';
const first = (text = firstMessage, mechanism = 'SCRAM-SHA-256') => {
  const length = Buffer.alloc(4);
  length.writeInt32BE(text.length);
  const body = Buffer.concat([cstrings(mechanism), length, Buffer.from(text)]);
  return frame('p', body).toString('latin1');
};

async function connect(withPassword: string, user = 'postgres'): Promise<Client> {
  const client = new Client({
    ...{ host: '127.0.0.1', port: port(), user, password: withPassword, database: 'postgres' },
  });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

describe('the port', () => {
  it('lets in who knows the password, by its URL', async () => {
    const client = new Client({ connectionString: url });
    await client.connect();
    expect((await client.query('SELECT 1 AS a')).rows).toEqual([{ a: 1 }]);
    await client.end();
  });

  it.each([
    ['a wrong password', 'another password'],
    ['a part of the password', password.slice(0, -1)],
  ])('keeps out %s, after a second', async (_what, wrong) => {
    const refused = expect(connect(wrong)).rejects.toMatchObject({ code: '28P01' });
    await expect.poll(() => clock.sleepers(), patience).toBe(2);
    clock.advance(1_000);
    await refused;
  });

  it('asks for the password before it says who is known', async () => {
    const raw = await connectRaw(port());
    raw.send(startup.replace('postgres', 'somebody'));
    const asked = await raw.until(/SCRAM-SHA-256/);
    expect(asked).toMatch(/^R/);
    raw.socket.destroy();
    await expect(connect(password, 'somebody')).rejects.toMatchObject({ code: '28000' });
  });

  it.each([
    ['a query in place of the password', frame('Q', cstrings('SELECT 1')).toString('latin1')],
    ['another mechanism', first(firstMessage, 'PLAIN')],
    ['channel binding, which is not offered', first('p=tls-unique,,n=,r=nonce')],
    ['a message without a nonce', first('n,,n=')],
    ['a message of a megabyte', first(`n,,n=${'x'.repeat(1_000_000)},r=nonce`)],
  ])('ends a client that sends %s', async (_what, sent) => {
    const raw = await connectRaw(port());
    raw.send(startup);
    await raw.until(/SCRAM-SHA-256/);
    raw.send(sent);
    expect(await raw.ended()).toContain('C08P01');
  });

  it('takes no proof of another exchange', async () => {
    const raw = await connectRaw(port());
    raw.send(startup);
    await raw.until(/SCRAM-SHA-256/);
    raw.send(first());
    await raw.until(/i=4096/);
    const proof = Buffer.alloc(32).toString('base64');
    raw.send(frame('p', Buffer.from(`c=biws,r=nonce,p=${proof}`)).toString('latin1'));
    await expect.poll(() => clock.sleepers(), patience).toBe(2);
    clock.advance(1_000);
    expect(await raw.ended()).toContain('C28P01');
  });
});

const hasPsql = spawnSync('psql', ['--version']).status === 0;
it.runIf(hasPsql)('lets psql in, which checks that the server knows the password too', async () => {
  const { execa } = await import('execa');
  const env = { PGPASSWORD: password };
  const args = ['-X', '-At', '-h', '127.0.0.1', '-p', `${port()}`, '-U', 'postgres'];
  const { stdout } = await execa('psql', [...args, '-c', 'SELECT 7'], { env });
  expect(stdout).toBe('7');
});

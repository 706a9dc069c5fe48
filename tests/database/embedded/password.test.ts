import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { cstrings, frame } from '../../../lib/database/embedded/messages.ts';
import type { EmbeddedDatabase } from '../../../lib/database/embedded/open.ts';
import { createTestClock } from '../../support/clock.ts';
import { connectRaw } from '../../support/raw-client.ts';
import { openTemporary } from './open-temporary.ts';

/** Generous, because a busy machine takes longer to start a statement. */
const patience = { timeout: 120_000 };
const clock = createTestClock();
const password = 'a/long:pass@word';
let db: EmbeddedDatabase;
let url: string;
beforeAll(async () => {
  db = await openTemporary(clock, { port: 0, password });
  url = db.portUrl ?? '';
});
afterAll(() => db.close());

const port = () => Number(new URL(url).port);
const version = Buffer.from([0, 3, 0, 0]);
const startup = (user: string) =>
  frame('?', Buffer.concat([version, cstrings('user', user, '')]))
    .toString('latin1')
    .slice(1);

async function connect(withPassword: string, user = 'postgres'): Promise<Client> {
  const client = new Client({
    ...{ host: '127.0.0.1', port: port(), user, password: withPassword, database: 'postgres' },
  });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

it('the port accepts a client with the password of its URL', async () => {
  const client = new Client({ connectionString: url });
  await client.connect();
  expect((await client.query('SELECT 1 AS a')).rows).toEqual([{ a: 1 }]);
  await client.end();
});

it.each([
  ['a wrong password', 'another password'],
  ['a part of the password', password.slice(0, -1)],
])('the port rejects %s after a second', async (_what, wrong) => {
  const refused = expect(connect(wrong)).rejects.toMatchObject({ code: '28P01' });
  await expect.poll(() => clock.sleepers(), patience).toBe(2);
  clock.advance(1_000);
  await refused;
});

it('the port asks for the password before it reveals which users exist', async () => {
  const raw = await connectRaw(port());
  raw.send(startup('somebody'));
  expect(await raw.until(/^R.{8}$/s)).toBe('R\0\0\0\x08\0\0\0\x03');
  raw.socket.destroy();
  await expect(connect(password, 'somebody')).rejects.toMatchObject({ code: '28000' });
});

it.each([
  ['a query instead of the password', frame('Q', cstrings('SELECT 1'))],
  ['a password of a megabyte', frame('p', cstrings('x'.repeat(1_000_000)))],
  ['a password without an end', frame('p', Buffer.from('x'))],
])('the port disconnects a client that sends %s', async (_what, sent) => {
  const raw = await connectRaw(port());
  raw.send(startup('postgres'));
  await raw.until(/^R/);
  raw.send(sent.toString('latin1'));
  expect(await raw.ended()).toContain('C08P01');
});

import { beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { createGatewayCredentials } from '../../lib/gateway/credentials.ts';
import {
  findGatewayConnection,
  markGatewayKeyInvalid,
  noteGatewayKeyUse,
  replaceEncryptedGatewayKey,
  storeGatewayConnection,
} from '../../lib/gateway/gateway-connections.ts';
import { readActiveModelId } from '../../lib/records/active-embedding-model.ts';
import {
  createSession,
  deleteSession,
  listMessages,
  listSessions,
  readSession,
  renameSession,
} from '../../lib/records/sessions.ts';
import {
  addUser,
  changePassword,
  findPasswordHash,
  isUser,
  removeUser,
} from '../../lib/users/users.ts';
import { everyDatabase } from '../support/databases.ts';
import { createTestDeps } from '../support/deps.ts';
import { useDatabase } from '../support/hooks.ts';
import { sql } from '../support/records.ts';

// Tests the records of users over each driver, because their types and servers differ.

const ID = '6f3c2f1e-0c5a-4b7d-9a53-3f1f7f1d2c11';
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

describe.each(everyDatabase)('over %s', (_name, create) => {
  const database = useDatabase(create);
  let db: Database;
  beforeAll(async () => {
    db = database.db;
  });

  it('a user is known by exact name, and only since registration', async () => {
    await addUser(db, 'ada', 'hash of ada');
    expect(await findPasswordHash(db, 'ada')).toBe('hash of ada');
    expect(await findPasswordHash(db, 'Ada')).toBeNull();
    expect(await isUser(db, 'ada', null)).toBe(true);
    expect(await isUser(db, 'ada', 4_000_000_000)).toBe(true);
    expect(await isUser(db, 'ada', 1_000_000_000)).toBe(false);
    await changePassword(db, 'ada', 'another hash');
    expect(await findPasswordHash(db, 'ada')).toBe('another hash');
    await removeUser(db, 'ada');
    expect(await isUser(db, 'ada', null)).toBe(false);
    const unknown = { code: 'NOT_FOUND' };
    await expect(changePassword(db, 'ada', 'x')).rejects.toMatchObject(unknown);
    await expect(removeUser(db, 'ada')).rejects.toMatchObject(unknown);
  });

  it("removing a user deletes all of their records, and nobody else's", async () => {
    for (const name of ['alan', 'kurt']) {
      await addUser(db, name, 'hash');
      await storeGatewayConnection(db, name, { encryptedKey: name, keyHint: '…' });
      await createSession(db, name, { id: null, name: `of ${name}` });
      await sql(
        db,
        `INSERT INTO chat_messages (session_id, username, role, content, request_id)
         SELECT id, '${name}', 'user', 'in a session', 'r' FROM chat_sessions WHERE username = '${name}'
         UNION ALL SELECT NULL, '${name}', 'user', 'in none', 'r'`,
      );
      await sql(
        db,
        `INSERT INTO reports (username, report_type, subject, content_markdown, content_html)
         VALUES ('${name}', 'custom', 'a', 'b', 'c')`,
      );
    }
    await removeUser(db, 'alan');
    const left = await sql(
      db,
      `SELECT 'key' AS what, username FROM gateway_connections
       UNION ALL SELECT 'session', username FROM chat_sessions
       UNION ALL SELECT 'message', username FROM chat_messages
       UNION ALL SELECT 'report', username FROM reports
       UNION ALL SELECT 'user', username FROM users ORDER BY what`,
    );
    expect(left).toEqual(
      ['key', 'message', 'message', 'report', 'session', 'user'].map((what) => ({
        what,
        username: 'kurt',
      })),
    );
    await removeUser(db, 'kurt');
  });

  it('a connection is stored, used, re-encrypted and marked invalid', async () => {
    const stored = await storeGatewayConnection(db, 'ada', { encryptedKey: 'one', keyHint: '…1' });
    expect(stored).toEqual({
      encrypted_key: 'one',
      key_hint: '…1',
      connected_at: expect.stringMatching(TIMESTAMP),
      last_used_at: null,
      invalid: false,
    });
    await replaceEncryptedGatewayKey(db, 'ada', { from: 'other', to: 'lost' });
    await replaceEncryptedGatewayKey(db, 'ada', { from: 'one', to: 'two' });
    await noteGatewayKeyUse(db, 'ada', stored.connected_at);
    await markGatewayKeyInvalid(db, 'ada', '2026-01-01T00:00:00.000000Z');
    expect(await findGatewayConnection(db, 'ada')).toEqual({
      ...stored,
      encrypted_key: 'two',
      last_used_at: expect.stringMatching(TIMESTAMP),
    });
    await markGatewayKeyInvalid(db, 'ada', stored.connected_at);
    expect(await findGatewayConnection(db, 'ada')).toMatchObject({ invalid: true });
    expect(await findGatewayConnection(db, 'grace')).toBeNull();
  });

  it('a session is created, read, renamed and deleted by its user', async () => {
    expect(await createSession(db, 'ada', { id: ID, name: 'Disks' })).not.toBeNull();
    expect(await createSession(db, 'eve', { id: ID, name: 'Mine' })).toBeNull();
    expect(await createSession(db, 'eve', { id: null, name: '' })).not.toBeNull();
    await sql(
      db,
      `INSERT INTO chat_messages (session_id, username, role, content, request_id)
       SELECT '${ID}', 'ada', 'user', 'text ' || n, 'r' FROM generate_series(1, 3) AS n`,
    );
    expect(JSON.parse((await readSession(db, 'ada', ID)) ?? '')).toEqual({
      id: ID,
      session_name: 'Disks',
      created_at: expect.stringMatching(TIMESTAMP),
      updated_at: expect.stringMatching(TIMESTAMP),
      message_count: 3,
    });
    const page = { id: ID, beforeId: null, limit: 2 };
    const messages = JSON.parse((await listMessages(db, 'ada', page)) ?? '');
    expect(messages.map(({ content }: { content: string }) => content)).toEqual([
      'text 2',
      'text 3',
    ]);
    expect(await renameSession(db, 'ada', { id: ID, name: 'Full disks' })).toContain('Full disks');
    expect(await listSessions(db, 'ada', { page: 1, limit: 5 })).toContain('Full disks');

    expect(await readSession(db, 'eve', ID)).toBeNull();
    expect(await listMessages(db, 'eve', page)).toBeNull();
    expect(await renameSession(db, 'eve', { id: ID, name: 'Mine' })).toBeNull();
    expect(await deleteSession(db, 'eve', ID)).toBe(false);
    expect(await deleteSession(db, 'ada', ID)).toBe(true);
  });

  it('there is no active model at first', async () => {
    expect(await readActiveModelId(db)).toBeNull();
  });

  it('a missing table is not reported as a missing database', async () => {
    await sql(db, 'DROP TABLE gateway_connections');
    const deps = createTestDeps({
      db,
      environment: { CREDENTIALS_ENCRYPTION_KEY: 'ab'.repeat(32) },
    });
    await expect(createGatewayCredentials(deps).readStatus('ada')).rejects.toMatchObject({
      code: 'CREDENTIAL_STORAGE_UNAVAILABLE',
    });
  });
});

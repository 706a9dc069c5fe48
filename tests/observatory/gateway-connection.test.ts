import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Environment } from '../../lib/config/read.ts';
import type { Database } from '../../lib/database/database.ts';
import { createGateway } from '../../lib/gateway/gateway.ts';
import { createPostgres, type TestDatabase } from '../support/databases.ts';
import { openDownDatabase } from '../support/down-database.ts';
import { type Gateway as StandIn, startGateway } from '../support/gateway.ts';
import { createObservatoryClient } from '../support/observatory-client.ts';
import { sql } from '../support/records.ts';

const VERIFIER = 'v'.repeat(43);
const EXCHANGE = { code: 'a-code', code_verifier: VERIFIER };

let standIn: StandIn;
let database: TestDatabase;

beforeEach(async () => {
  [standIn, database] = await Promise.all([startGateway(), createPostgres()]);
});
afterEach(() => Promise.all([standIn.close(), database.close()]));

function createParts(environment: Environment = {}, db: Database = database.db) {
  const client = createObservatoryClient({
    db,
    environment: { GATEWAY_BASE_URL: standIn.url, ...environment },
  });
  const gateway = createGateway(client.deps, []);
  const connect = () => client.post('/me/gateway/exchange', EXCHANGE);
  const embedAs = async (username: string) =>
    gateway.client.embedTexts({
      model: 'acme/embed-free',
      texts: ['one'],
      keys: await gateway.credentials.resolveKeys(username),
    });
  return { ...client, gateway, connect, embedAs };
}

const notConnected = {
  connected: false,
  source: 'none',
  key_hint: null,
  connected_at: null,
  last_used_at: null,
  invalid: false,
};

describe('POST /me/gateway/exchange', () => {
  it('exchanges the code for a key at the gateway and returns the connection', async () => {
    const { connect } = createParts();
    const { status, body } = await connect();
    expect(status).toBe(200);
    expect(body).toMatchObject({ success: true, message: expect.any(String) });
    expect(body.data).toMatchObject({
      connected: true,
      source: 'user',
      key_hint: '…0001',
      last_used_at: null,
      invalid: false,
    });
    expect(standIn.requests).toEqual([
      {
        method: 'POST',
        path: '/auth/keys',
        key: null,
        body: { code: 'a-code', code_verifier: VERIFIER, code_challenge_method: 'S256' },
      },
    ]);
  });

  it('asks GATEWAY_AUTH_URL if it is set', async () => {
    const { connect } = createParts({
      GATEWAY_BASE_URL: 'http://127.0.0.1:9/v1',
      GATEWAY_AUTH_URL: `${standIn.url}/auth/keys`,
    });
    expect((await connect()).status).toBe(200);
  });

  it('never stores, logs or returns the plain key', async () => {
    const { connect, get, deps } = createParts();
    const answers = [await connect(), await get('/me/gateway')];
    const stored = await sql(database.db, 'SELECT * FROM gateway_connections');
    const seen = [
      JSON.stringify(stored),
      JSON.stringify(deps.logged),
      ...answers.map((it) => it.text),
    ];
    for (const text of seen) expect(text).not.toContain(standIn.issuedKey.slice(3, 20));
  });

  it('shows no hint of a short key', async () => {
    standIn.issuedKey = 'sk-short-1234';
    const { connect } = createParts();
    expect((await connect()).body.data.key_hint).toBe('…');
  });

  it.each([
    ['a verifier of 42 characters', { ...EXCHANGE, code_verifier: 'v'.repeat(42) }],
    ['a verifier of 129 characters', { ...EXCHANGE, code_verifier: 'v'.repeat(129) }],
    ['no verifier', { code: 'a-code' }],
    ['no code', { code_verifier: VERIFIER }],
    ['an empty code', { ...EXCHANGE, code: '' }],
  ])('answers 400 to %s without asking the gateway', async (_case, json) => {
    const { status, body } = await createParts().post('/me/gateway/exchange', json);
    expect([status, body.error.code]).toEqual([400, 'VALIDATION_ERROR']);
    expect(standIn.requests).toEqual([]);
  });

  it('accepts a verifier of 128 characters', async () => {
    const { post } = createParts();
    const json = { ...EXCHANGE, code_verifier: 'v'.repeat(128) };
    expect((await post('/me/gateway/exchange', json)).status).toBe(200);
  });

  it.each([400, 401, 403, 404, 422])(
    'answers 400 GATEWAY_EXCHANGE_FAILED when the gateway refuses with %i',
    async (refusal) => {
      standIn.script('/auth/keys', { status: refusal });
      const { status, body } = await createParts().connect();
      expect([status, body.error.code]).toEqual([400, 'GATEWAY_EXCHANGE_FAILED']);
    },
  );

  it.each<[string, Parameters<StandIn['script']>[1]]>([
    ['fails', { status: 500 }],
    ['is busy', { status: 429 }],
    ['redirects', { status: 307, headers: { Location: 'http://127.0.0.1:9/' } }],
    ['cuts the connection', { instead: 'reset' }],
    ['gives no key', { body: { user: 'x' } }],
    ['gives a key that no header can hold', { body: { key: 'sk-\r\nX: y' } }],
    ['gives an empty key', { body: { key: '' } }],
    ['answers text', { body: 'hello' }],
    ['answers without end', { body: `{"key": "${'x'.repeat(70_000)}"}` }],
  ])('answers 502 GATEWAY_EXCHANGE_UNAVAILABLE when the gateway %s', async (_case, answer) => {
    standIn.script('/auth/keys', answer);
    const { connect, get } = createParts();
    const { status, body } = await connect();
    expect([status, body.error.code]).toEqual([502, 'GATEWAY_EXCHANGE_UNAVAILABLE']);
    expect((await get('/me/gateway')).body.data.connected).toBe(false);
  });

  it("logs neither code nor verifier when the gateway's error repeats them", async () => {
    standIn.script('/auth/keys', { status: 500, body: `cannot take a-long-code with ${VERIFIER}` });
    const { post, deps } = createParts();
    await post('/me/gateway/exchange', { code: 'a-long-code', code_verifier: VERIFIER });
    const logged = inspect(deps.logged, { depth: null });
    expect(logged).toContain('cannot take [redacted] with [redacted]');
    expect(logged).not.toContain('a-long-code');
    expect(logged).not.toContain(VERIFIER);
  });

  it('answers 502 when nothing listens at the address', async () => {
    const { connect } = createParts({ GATEWAY_BASE_URL: 'http://127.0.0.1:9' });
    expect((await connect()).body.error.code).toBe('GATEWAY_EXCHANGE_UNAVAILABLE');
  });

  it('does not use up the code while keys cannot be stored', async () => {
    const down = await openDownDatabase();
    for (const [environment, db, code] of [
      [{ CREDENTIALS_ENCRYPTION_KEY: undefined }, database.db, 'CREDENTIAL_STORAGE_UNAVAILABLE'],
      [{}, down, 'SERVICE_UNAVAILABLE'],
    ] as const) {
      const { status, body } = await createParts(environment, db).connect();
      expect([status, body.error.code]).toEqual([503, code]);
    }
    expect(standIn.requests).toEqual([]);
    await down.close();
  });
});

describe('/me/gateway', () => {
  it.each([
    ['none without server keys', {}, 'none'],
    ['server with them', { GATEWAY_API_KEYS: 'sk-a,sk-b' }, 'server'],
    [
      'none when users may not use them',
      { GATEWAY_API_KEYS: 'sk-a', GATEWAY_ALLOW_SERVER_KEYS: 'false' },
      'none',
    ],
  ])(
    'returns the source %s for a user who is not connected',
    async (_case, environment, source) => {
      const { get } = createParts(environment);
      expect((await get('/me/gateway')).body.data).toEqual({ ...notConnected, source });
    },
  );

  it('deletes the key on DELETE, even if repeated', async () => {
    const { connect, get, send } = createParts();
    await connect();
    for (let n = 0; n < 2; n += 1) {
      expect((await send('DELETE', '/me/gateway')).body.data).toEqual(notConnected);
    }
    expect((await get('/me/gateway')).body.data).toEqual(notConnected);
    expect(await sql(database.db, 'SELECT * FROM gateway_connections')).toEqual([]);
  });

  it('affects only the user who asks', async () => {
    const { connect, get, send, signToken } = createParts();
    await connect();
    await sql(database.db, `INSERT INTO users VALUES ('grace', 'x', '2020-01-01')`);
    const token = await signToken('grace');
    expect((await get('/me/gateway', { token })).body.data).toEqual(notConnected);
    await send('DELETE', '/me/gateway', { token });
    expect((await get('/me/gateway')).body.data.connected).toBe(true);
  });

  it.each([
    ['GET', '/me/gateway', undefined],
    ['DELETE', '/me/gateway', undefined],
    ['POST', '/me/gateway/exchange', EXCHANGE],
  ])('answers 503 to %s %s without the encryption key or the table', async (method, path, json) => {
    const request = json ? { json } : {};
    const keyless = createParts({ CREDENTIALS_ENCRYPTION_KEY: undefined });
    await sql(database.db, 'DROP TABLE gateway_connections');
    for (const { send } of [keyless, createParts()]) {
      const { status, body } = await send(method, path, request);
      expect([status, body.error.code]).toEqual([503, 'CREDENTIAL_STORAGE_UNAVAILABLE']);
    }
  });
});

describe("a user's own gateway key", () => {
  it("is used only for its owner; others use the server's keys", async () => {
    const { connect, embedAs, deps, get } = createParts({ GATEWAY_API_KEYS: 'sk-server-key-01' });
    await connect();
    await embedAs('ada');
    await embedAs('grace');
    const keys = standIn.requestsTo('/embeddings').map(({ key }) => key);
    expect(keys).toEqual([standIn.issuedKey, 'sk-server-key-01']);
    await deps.settled();
    expect((await get('/me/gateway')).body.data.last_used_at).toEqual(expect.any(String));
  });

  it('is invalid until its user reconnects after a 401, without a fallback', async () => {
    const { connect, embedAs, get } = createParts({ GATEWAY_API_KEYS: 'sk-server-key-01' });
    await connect();
    standIn.refusedKeys.set(standIn.issuedKey, 401);
    const invalid = { code: 'GATEWAY_KEY_INVALID' };
    await expect(embedAs('ada')).rejects.toMatchObject(invalid);
    expect((await get('/me/gateway')).body.data).toMatchObject({ connected: true, invalid: true });
    await expect(embedAs('ada')).rejects.toMatchObject(invalid);
    expect(standIn.requestsTo('/embeddings').map(({ key }) => key)).toEqual([standIn.issuedKey]);

    standIn.issuedKey = 'sk-or-v1-issued-key-of-a-user-00000002';
    expect((await connect()).body.data).toMatchObject({ invalid: false, key_hint: '…0002' });
    expect(await embedAs('ada')).toHaveLength(1);
  });

  it('does not invalidate its replacement when it is refused', async () => {
    const { connect, gateway, get } = createParts();
    await connect();
    const keys = await gateway.credentials.resolveKeys('ada');
    standIn.refusedKeys.set(standIn.issuedKey, 401);
    standIn.issuedKey = 'sk-or-v1-issued-key-of-a-user-00000002';
    await connect();
    const request = { model: 'acme/embed-free', texts: ['one'], keys };
    await expect(gateway.client.embedTexts(request)).rejects.toMatchObject({
      code: 'GATEWAY_KEY_INVALID',
    });
    expect((await get('/me/gateway')).body.data.invalid).toBe(false);
  });

  it('is still invalid when it is refused while being re-encrypted with a new key', async () => {
    const [former, current] = [randomBytes(32), randomBytes(32)].map((it) => it.toString('base64'));
    await createParts({ CREDENTIALS_ENCRYPTION_KEY: former }).connect();
    const parts = createParts({ CREDENTIALS_ENCRYPTION_KEY: `${current},${former}` });
    const keys = await parts.gateway.credentials.resolveKeys('ada');
    await parts.deps.settled();
    standIn.refusedKeys.set(standIn.issuedKey, 401);
    const request = { model: 'acme/embed-free', texts: ['one'], keys };
    await expect(parts.gateway.client.embedTexts(request)).rejects.toMatchObject({
      code: 'GATEWAY_KEY_INVALID',
    });
    expect((await parts.get('/me/gateway')).body.data.invalid).toBe(true);
  });

  it.each<[string, Parameters<StandIn['script']>[1]]>([
    ['a refusal', { status: 401, body: 'no such key: a-key-of-no-known-form' }],
    ['a failure in a 200', { body: { error: { code: 401, message: 'a-key-of-no-known-form?' } } }],
  ])('does not reach the log when the gateway repeats it in %s', async (_case, answer) => {
    standIn.issuedKey = 'a-key-of-no-known-form';
    const { connect, embedAs } = createParts();
    await connect();
    standIn.script('/embeddings', answer);
    const error = await embedAs('ada').catch((thrown: unknown) => thrown);
    expect(inspect(error)).toContain('GATEWAY_KEY_INVALID');
    expect(inspect(error)).toContain('[redacted]');
    expect(inspect(error)).not.toContain('of-no-known-form');
  });

  it.each([
    [402, 'GATEWAY_OUT_OF_CREDITS'],
    [429, 'GATEWAY_RATE_LIMITED'],
    [500, 'GATEWAY_UNAVAILABLE'],
  ])('fails with %i as %s and never falls back', async (status, code) => {
    const { connect, embedAs, get } = createParts({ GATEWAY_API_KEYS: 'sk-server-key-01' });
    await connect();
    standIn.refusedKeys.set(standIn.issuedKey, status);
    await expect(embedAs('ada')).rejects.toMatchObject({ code });
    expect(standIn.requestsTo('/embeddings')).toHaveLength(1);
    expect((await get('/me/gateway')).body.data.invalid).toBe(false);
  });

  it("is required if users may not use the server's keys", async () => {
    const { embedAs, gateway } = createParts({
      GATEWAY_API_KEYS: 'sk-server-key-01',
      GATEWAY_ALLOW_SERVER_KEYS: 'false',
    });
    await expect(embedAs('ada')).rejects.toMatchObject({ code: 'GATEWAY_NOT_CONFIGURED' });
    expect((await gateway.credentials.resolveKeys(null)).source).toBe('server');
  });

  it('is readable with the old encryption key, and then encrypted with the new one', async () => {
    const [former, current] = [randomBytes(32), randomBytes(32)].map((it) => it.toString('base64'));
    await createParts({ CREDENTIALS_ENCRYPTION_KEY: former }).connect();
    const rotating = createParts({ CREDENTIALS_ENCRYPTION_KEY: `${current},${former}` });
    expect(await rotating.embedAs('ada')).toHaveLength(1);
    await rotating.deps.settled();
    const rotated = createParts({ CREDENTIALS_ENCRYPTION_KEY: current });
    expect(await rotated.embedAs('ada')).toHaveLength(1);
  });

  it.each([
    ['the encryption key is another', { CREDENTIALS_ENCRYPTION_KEY: 'ab'.repeat(32) }, ''],
    ['the row was copied from another user', {}, `UPDATE gateway_connections SET username = 'eve'`],
  ])("is 503, never replaced by the server's key, when %s", async (_case, environment, change) => {
    await createParts().connect();
    if (change !== '') await sql(database.db, change);
    const parts = createParts({ ...environment, GATEWAY_API_KEYS: 'sk-server-key-01' });
    await expect(parts.embedAs(change === '' ? 'ada' : 'eve')).rejects.toMatchObject({
      code: 'CREDENTIAL_STORAGE_UNAVAILABLE',
    });
    expect(standIn.requestsTo('/embeddings')).toEqual([]);
  });
});

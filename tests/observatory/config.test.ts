import { describe, expect, it } from 'vitest';
import { hasMcpToken } from '../../lib/config/features.ts';
import type { Environment } from '../../lib/config/read.ts';
import { createHostedObservatoryApp } from '../../lib/observatory/observatory-function.ts';
import { findSurface } from '../../lib/surfaces/surface-paths.ts';
import { createTestDeps } from '../support/deps.ts';
import { openDownDatabase } from '../support/down-database.ts';
import { useDatabase } from '../support/hooks.ts';
import {
  ADA,
  createObservatoryClient,
  observatoryEnvironment,
  signToken,
} from '../support/observatory-client.ts';
import { sql } from '../support/records.ts';

const database = useDatabase();

const nothing = {
  CREDENTIALS_ENCRYPTION_KEY: undefined,
  GATEWAY_API_KEYS: undefined,
};
const SECRETS = {
  RESEND_API_KEY: 're_a-key-that-nobody-may-see',
  GATEWAY_API_KEYS: 'sk-a-key-that-nobody-may-see',
};

async function read(
  environment: Environment,
  options: Parameters<typeof createObservatoryClient>[0] = {},
) {
  const client = createObservatoryClient({ db: database.db, environment, ...options });
  const { status, body, text } = await client.get('/observatory/config');
  expect(status).toBe(200);
  return { ...body.data, text };
}

const on = { enabled: true, reason: null };
const off = (reason: string) => ({ enabled: false, reason });

describe('GET /observatory/config', () => {
  it('says why every feature is off where nothing is configured', async () => {
    const found = await read(nothing);
    expect(found).toMatchObject({
      features: {
        chat: off('GATEWAY_API_KEYS not set; CREDENTIALS_ENCRYPTION_KEY not set'),
        chat_without_own_key: off('GATEWAY_API_KEYS not set'),
        gateway_login: off('CREDENTIALS_ENCRYPTION_KEY not set'),
        reports: on,
        mail: off('RESEND_API_KEY, SMTP_FROM and SMTP_TO not set'),
        archives: off('the archives are not on this server'),
        mcp: off('MCP_AUTH_TOKEN not set'),
      },
      models: { chat: null, embedding: null, embedding_default: 'local/hashing-384' },
      gateway: { authorize_url: 'https://openrouter.ai/auth' },
      report_recipients: [],
      mcp: { path: '/mcp', has_token: false },
      limits: {
        question_chars: 10_000,
        confirmation_timeout_seconds: 120,
        chat_deadline_seconds: 280,
        archive_file_bytes: 10_485_760,
      },
    });
    expect(findSurface(found.mcp.path).name).toBe('mcp');
  });

  it('says what is on where everything is configured, and shows no secret', async () => {
    const environment = {
      ...SECRETS,
      SMTP_FROM: 'backups@example.com',
      SMTP_TO: 'ops@example.com, dev@example.com',
      GATEWAY_MODEL: 'acme/chat',
      GATEWAY_AUTHORIZE_URL: 'https://gateway.example/auth',
      HITL_CONFIRMATION_TIMEOUT_SECONDS: '7',
    };
    const explainMissingArchives = async () => null;
    const found = await read(environment, { hasMcpToken: true, explainMissingArchives });
    expect(found).toMatchObject({
      features: {
        chat: on,
        chat_without_own_key: on,
        gateway_login: on,
        reports: on,
        mail: on,
        archives: on,
        mcp: on,
      },
      models: { chat: 'acme/chat' },
      gateway: { authorize_url: 'https://gateway.example/auth' },
      report_recipients: ['ops@example.com', 'dev@example.com'],
      mcp: { has_token: true },
      limits: { confirmation_timeout_seconds: 7 },
    });
    const secrets = [...Object.values(SECRETS), ...Object.values(observatoryEnvironment)];
    for (const secret of secrets.filter((it) => it !== ADA.username)) {
      expect(found.text).not.toContain(secret);
    }
  });

  it.each([
    [{ ...nothing, ...SECRETS }, on, on],
    [
      { ...SECRETS, GATEWAY_ALLOW_SERVER_KEYS: 'false' },
      on,
      off('GATEWAY_ALLOW_SERVER_KEYS is false'),
    ],
    [{}, on, off('GATEWAY_API_KEYS not set')],
  ])("says whether a chat needs the user's own key, %#", async (environment, chat, without) => {
    const { features } = await read(environment);
    expect(features).toMatchObject({ chat, chat_without_own_key: without });
  });

  it('names the single variable that mail lacks', async () => {
    const { features } = await read({ ...SECRETS, SMTP_FROM: 'backups@example.com' });
    expect(features.mail).toEqual(off('SMTP_TO not set'));
  });

  it('enables similarity search once an embedding model is active', async () => {
    expect((await read({})).features.search_semantic).toEqual({
      enabled: false,
      reason: expect.any(String),
    });
    await sql(
      database.db,
      `INSERT INTO embedding_generations (model_id, dimensions, status) VALUES ('local/hashing-384', 384, 'ACTIVE')`,
    );
    const { features, models } = await read({});
    expect(features.search_semantic).toEqual(on);
    expect(models.embedding).toBe('local/hashing-384');
  });

  it('answers 503 without its database', async () => {
    const db = await openDownDatabase();
    const client = createObservatoryClient({ db });
    expect((await client.get('/config')).status).toBe(503);
    await db.close();
  });
});

describe('hasMcpToken', () => {
  it.each([
    [{ MCP_AUTH_TOKEN: 'x'.repeat(32) }, true],
    [{ MCP_AUTH_TOKEN: 'x'.repeat(31) }, false],
    [{ MCP_AUTH_TOKEN: '' }, false],
    [{}, false],
  ])('judges %j: %s', (environment, expected) => {
    expect(hasMcpToken(environment)).toBe(expected);
  });

  it('sets has_token in the deployed function', async () => {
    const environment = {
      ...observatoryEnvironment,
      DATABASE_URL: database.url,
      MCP_AUTH_TOKEN: 'x'.repeat(32),
    };
    const app = await createHostedObservatoryApp(environment, null, () => undefined);
    const { clock } = createTestDeps();
    const Authorization = `Bearer ${await signToken({ clock }, ADA.username, { claims: { iat: Math.floor(Date.now() / 1000), exp: Math.floor(Date.now() / 1000) + 60 } })}`;
    const response = await app.request('/observatory/config', { headers: { Authorization } });
    const { data } = (await response.json()) as { data: object };
    expect(data).toMatchObject({
      mcp: { has_token: true },
      features: { archives: { enabled: false } },
    });
  });
});

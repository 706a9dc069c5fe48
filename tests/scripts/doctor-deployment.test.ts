import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storeChannel } from '../../lib/alerts/channels/stored-channels.ts';
import { alertSendingVariables } from '../../lib/config/alert-channels.ts';
import { type Environment, readConfig } from '../../lib/config/read.ts';
import { storeGatewayConnection } from '../../lib/gateway/gateway-connections.ts';
import { createSealing } from '../../lib/security/sealing.ts';
import { beginProgress, endProgress } from '../../scripts/move/progress.ts';
import { createPostgres } from '../support/databases.ts';
import { deploymentSecrets, examineWith } from '../support/doctor.ts';
import { useDatabase } from '../support/hooks.ts';
import { NEON_HOST, type NeonEndpoint, startNeonEndpoint } from '../support/neon-http.ts';
import { ADA } from '../support/observatory-client.ts';
import { hasRedisServer } from '../support/redis-server.ts';
import { startUpstashRest } from '../support/upstash-rest.ts';

const database = useDatabase();
let neon: NeonEndpoint;
let neonUrl: string;

beforeAll(async () => {
  neon = await startNeonEndpoint(database.url);
  const { username, password, pathname } = new URL(database.url);
  neonUrl = `postgres://${username}:${password}@${NEON_HOST}${pathname}?sslmode=require`;
});
afterAll(() => neon.close());

const everySurface = ['service API', 'live feed', 'observatory', 'MCP server'];

const examineDeployment = (changes: Record<string, string | undefined> = {}) =>
  examineWith({ ...deploymentSecrets, DATABASE_URL: neonUrl, ...changes }, { send: neon.fetch });

describe('a deployment with everything required', () => {
  it('passes, and lists what is not configured', async () => {
    const { report, of, features } = await examineDeployment();
    expect(report).toMatchObject({ configuration: 'hosted', ok: true });
    expect(of('database')).toMatchObject({ status: 'ok', detail: `Neon, ${NEON_HOST}` });
    expect(of('database').latency_ms).toBeGreaterThan(0);
    expect(of('migrations')).toMatchObject({ status: 'ok', detail: 'all applied' });
    expect(of('vectors')).toMatchObject({ status: 'warning', effect: 'prevents' });
    expect(of('users')).toMatchObject({ status: 'warning', next: 'npm run users -- add NAME' });
    expect(of('redis')).toMatchObject({ status: 'warning', effect: 'prevents' });
    expect(of('backend').detail).toMatch(/^BACKEND_URL is not set: /);
    expect(features('works')).toEqual([
      'service API: runs, results, logs and statistics',
      'service API: sweep of stale runs',
      'live feed: live logs',
      'observatory: full-text search',
      "observatory: users' own gateway keys",
      'MCP server: tools over the network',
    ]);
    expect(features('limited')).toEqual(['observatory: chat']);
    expect(features('off')).toEqual([
      'service API: rate limits across instances',
      'observatory: login and sessions',
      'observatory: vector search',
      'observatory: reports by mail',
    ]);
  });

  it('is not checked for git, archives or a local server', async () => {
    const { report } = await examineDeployment();
    const names = report.checks.map(({ name }) => name);
    for (const name of ['git', 'archives', 'server']) expect(names).not.toContain(name);
  });

  it('has a user if the variables define one', async () => {
    const { of, features } = await examineDeployment({
      AUTH_USERNAME: ADA.username,
      AUTH_PASSWORD: ADA.password,
    });
    expect(of('users')).toMatchObject({
      status: 'ok',
      detail: '1 in the variables, 0 in the database',
    });
    expect(features('works')).toContain('observatory: login and sessions');
    expect((await examineDeployment({ AUTH_USERNAME: 'ada' })).of('users')).toMatchObject({
      status: 'warning',
      detail: 'AUTH_USERNAME is set without AUTH_PASSWORD',
    });
  });
});

it('the doctor reports gateway keys that were stored with another encryption key', async () => {
  const { CREDENTIALS_ENCRYPTION_KEY: before } = deploymentSecrets;
  const sealed = createSealing(before, 'gateway key').seal('sk-or-v1-key-of-ada', 'ada');
  await storeGatewayConnection(database.db, 'ada', { encryptedKey: sealed, keyHint: '…ada' });
  expect((await examineDeployment()).of('stored_keys')).toMatchObject({
    status: 'ok',
    detail: '1 readable gateway key',
  });
  const after = { CREDENTIALS_ENCRYPTION_KEY: 'cd'.repeat(32) };
  const { of, features } = await examineDeployment(after);
  expect(of('stored_keys')).toMatchObject({
    status: 'warning',
    detail: '1 of 1 gateway keys were encrypted with another key',
  });
  expect(features('limited')).toContain("observatory: users' own gateway keys");
});

it('the doctor reports alert channels that cannot be used', async () => {
  const channel = { ALERT_CHANNELS: 'phone=ntfy://a-topic-of-tests' };
  expect((await examineDeployment()).of('alert_channels').status).toBe('off');
  expect((await examineDeployment(channel)).of('alert_channels')).toMatchObject({
    status: 'ok',
    detail: '1 channel',
  });
  const mail = await examineDeployment({ ALERT_CHANNELS: 'mailto:ops@example.com' });
  expect(mail.of('alert_channels')).toMatchObject({
    status: 'warning',
    detail: 'mail-1: no mail can be sent: set RESEND_API_KEY and SMTP_FROM',
  });
  const config = readConfig(alertSendingVariables, deploymentSecrets);
  const stored = { name: 'at night', address: 'ntfy://another-topic', createdBy: 'ada' };
  await storeChannel({ db: database.db, config }, stored);
  const after = { CREDENTIALS_ENCRYPTION_KEY: 'cd'.repeat(32) };
  expect((await examineDeployment({ ...channel, ...after })).of('alert_channels')).toMatchObject({
    status: 'warning',
    detail: 'at night: its address was encrypted with another CREDENTIALS_ENCRYPTION_KEY',
  });
  const invalid = await examineDeployment({ ALERT_CHANNELS: 'slack://hunter2' });
  expect(invalid.of('alert_channels')).toMatchObject({ status: 'failed' });
  expect(JSON.stringify(invalid.report)).not.toContain('hunter2');
});

it('the doctor shows the stores and the heartbeat of this machine, and no secret', async () => {
  const local = (environment: Environment) => examineWith(environment, { isHosted: false });
  const unset = await local({});
  expect(unset.of('stores')).toMatchObject({
    status: 'off',
    detail: expect.stringMatching(/^none/),
  });
  expect(unset.of('heartbeat')).toMatchObject({ status: 'off' });
  const set = await local({
    BACKUP_STORES: 's3://backups/git?region=eu-central-1&profile=hunter1,file:///mnt/nas',
    BACKUP_STORES_NEEDED: '1',
    HEARTBEAT_URL: 'https://hc-ping.com/hunter2',
  });
  expect(set.of('stores')).toMatchObject({
    status: 'ok',
    detail: 's3://backups/git, file:///mnt/nas; 1 must have a version; not encrypted',
  });
  expect(set.of('heartbeat')).toMatchObject({ status: 'ok', detail: 'set' });
  const invalid = await local({ BACKUP_STORES: 's3://a:hunter3@b', HEARTBEAT_URL: 'hunter4' });
  for (const name of ['stores', 'heartbeat']) expect(invalid.of(name).status).toBe('failed');
  expect(invalid.features('off')).toContain('worker: backups');
  expect(JSON.stringify([set.report, invalid.report])).not.toContain('hunter');
  const recipient = `age1${'q'.repeat(58)}`;
  expect(
    (await local({ BACKUP_STORES: 'file:///mnt/nas', BACKUP_AGE_RECIPIENTS: recipient })).of(
      'stores',
    ),
  ).toMatchObject({ status: 'failed', next: expect.stringContaining('BACKUP_NAMES_KEY') });
});

describe('a deployment that lacks something', () => {
  it.each([
    ['DATABASE_URL', 'database', 'service API: runs, results, logs and statistics'],
    ['INTERNAL_SECRET', 'INTERNAL_SECRET', 'live feed: live logs'],
    ['JWT_SECRET', 'JWT_SECRET', 'observatory: full-text search'],
    ['MCP_AUTH_TOKEN', 'MCP_AUTH_TOKEN', 'MCP server: tools over the network'],
  ])('fails without %s', async (variable, name, feature) => {
    const { report, of, features } = await examineDeployment({ [variable]: undefined });
    expect(report.ok).toBe(false);
    expect(of(name)).toMatchObject({ status: 'failed', effect: 'prevents' });
    expect(of(name).next).not.toBeNull();
    expect(features('off')).toContain(feature);
  });

  it.each([
    ['CRON_SECRET', 'service API: sweep of stale runs'],
    ['CREDENTIALS_ENCRYPTION_KEY', "observatory: users' own gateway keys"],
  ])('gets a warning without %s', async (variable, feature) => {
    const { report, of, features } = await examineDeployment({ [variable]: undefined });
    expect(report.ok).toBe(true);
    expect(of(variable)).toMatchObject({ status: 'warning', effect: 'prevents' });
    expect(features('off')).toContain(feature);
  });

  it('fails with a database on this machine', async () => {
    const { report, of } = await examineDeployment({
      DATABASE_URL: 'postgres://u:p@localhost:1/x',
    });
    expect(report.ok).toBe(false);
    expect(of('database').detail).toMatch(/which a deployed function cannot reach$/);
  });

  it('fails with a database that lacks migrations', async () => {
    const empty = await createPostgres({ migrated: false });
    const { report, of } = await examineDeployment({
      DATABASE_URL: neonUrl.replace(new URL(neonUrl).pathname, new URL(empty.url).pathname),
    });
    await empty.close();
    expect(report.ok).toBe(false);
    expect(of('migrations')).toMatchObject({
      status: 'failed',
      detail: expect.stringMatching(/^\d+ not applied yet$/),
      next: 'run `npm run migrate` with this DATABASE_URL',
    });
  });

  it('fails with a database that does not answer, without its password', async () => {
    neon.failWith({ status: 500, body: '{"message":"Control plane request failed"}' });
    const url = new URL(neonUrl);
    url.password = 'hidden-word-7';
    const { report, of } = await examineDeployment({ DATABASE_URL: url.href });
    neon.failWith(null);
    expect(report.ok).toBe(false);
    expect(of('database')).toMatchObject({
      status: 'failed',
      detail: expect.stringMatching(/^Neon, .*: the database is unavailable: /),
      latency_ms: null,
    });
    expect(JSON.stringify(report)).not.toContain('hidden-word-7');
  });

  it('fails with an invalid value, naming only the variable', async () => {
    const { report, of } = await examineDeployment({
      JWT_EXPIRES_MINUTES: 'forever',
      TRUSTED_PROXIES: '10.0.0.0/99',
    });
    expect(report.ok).toBe(false);
    expect(of('variables')).toMatchObject({
      status: 'failed',
      detail: expect.stringMatching(/TRUSTED_PROXIES must be .*JWT_EXPIRES_MINUTES must be /),
    });
    expect(JSON.stringify(report)).not.toContain('forever');
  });

  it.each([
    ['JWT_SECRET', 'too-short', 'variables', ['service API', 'live feed', 'observatory']],
    ['STALE_RUN_AFTER_MINUTES', 'soon', 'variables', ['service API']],
    ['WS_ALLOWED_ORIGINS', 'here', 'variables', ['live feed']],
    ['GATEWAY_BASE_URL', 'here', 'variables', ['observatory', 'MCP server']],
    ['UPSTASH_REDIS_REST_TOKEN', 'token-of-tests', 'redis', everySurface],
  ])('lists the functions that reject %s=%s', async (name, value, check, surfaces) => {
    const { report, of } = await examineDeployment({ [name]: value });
    expect(of(check).status).toBe('failed');
    const because = report.features.filter((feature) => feature.because === check);
    expect([...new Set(because.map(({ surface }) => surface))]).toEqual(surfaces);
    for (const surface of surfaces) {
      const all = report.features.filter((feature) => feature.surface === surface);
      expect(all.map(({ status }) => status)).toEqual(all.map(() => 'off'));
    }
  });

  it('fails with a database that has an unfinished move', async () => {
    await beginProgress(database.db);
    const { report, of, features } = await examineDeployment();
    await endProgress(database.db);
    expect(report.ok).toBe(false);
    expect(of('unfinished_move')).toMatchObject({ status: 'failed', effect: 'limits' });
    expect(features('limited')).toContain('service API: runs, results, logs and statistics');
    expect((await examineDeployment()).report.ok).toBe(true);
  });

  it('gets a warning about chat turns that exceed the time limit of functions', async () => {
    const { of } = await examineDeployment({ AGENT_REQUEST_DEADLINE_SECONDS: '300' });
    expect(of('limits')).toMatchObject({ status: 'warning', next: 'set less than 300' });
    expect((await examineDeployment()).of('limits').status).toBe('ok');
  });

  it('gets a warning about a connection that is not encrypted', async () => {
    const ofThisMachine = { isHosted: false };
    // A different name for the same server, which the doctor takes for a host on the network.
    const DATABASE_URL = database.url.replace('127.0.0.1', '0.0.0.0');
    const { of } = await examineWith({ DATABASE_URL, PORT: '0' }, ofThisMachine);
    expect(of('database')).toMatchObject({
      status: 'warning',
      detail: 'Postgres, 0.0.0.0: the connection is not encrypted',
      next: 'add ?sslmode=verify-full to DATABASE_URL',
      latency_ms: expect.any(Number),
    });
    const nearby = await examineWith({ DATABASE_URL: database.url, PORT: '0' }, ofThisMachine);
    expect(nearby.of('database')).toMatchObject({ status: 'ok', detail: 'Postgres, 127.0.0.1' });
  });
});

describe('Redis', () => {
  it.skipIf(!hasRedisServer)('is tested with a write', async () => {
    const redis = await startUpstashRest();
    const local = { isHosted: false };
    const examined = await examineWith(
      { PORT: '0', EMBEDDED_DB_PORT: '0', DATA_DIR: '/tmp/none', ...redis.environment },
      local,
    );
    expect(examined.of('redis')).toMatchObject({ status: 'ok', latency_ms: expect.any(Number) });
    redis.mode = 'fail';
    const failed = await examineWith(
      { PORT: '0', EMBEDDED_DB_PORT: '0', DATA_DIR: '/tmp/none', ...redis.environment },
      local,
    );
    await redis.close();
    expect(failed.report.ok).toBe(false);
    expect(failed.of('redis')).toMatchObject({ status: 'failed', latency_ms: null });
  });

  it('fails with only one of its variables', async () => {
    const { of } = await examineDeployment({ UPSTASH_REDIS_REST_URL: 'https://redis.invalid' });
    expect(of('redis')).toMatchObject({
      status: 'failed',
      detail:
        'UPSTASH_REDIS_REST_TOKEN is missing: set both UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN, or neither',
    });
  });
});

import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { archivePath, archiveVariables } from '../../lib/config/archives.ts';
import { backupsVariables } from '../../lib/config/backups.ts';
import { listenPort, listenVariables } from '../../lib/config/listen.ts';
import { localVariables } from '../../lib/config/local/local.ts';
import { ConfigError, type Environment, readConfig } from '../../lib/config/read.ts';
import { workerVariables } from '../../lib/config/worker.ts';

const read = (environment: Environment) => readConfig(backupsVariables, environment);

function faultOf(
  environment: Environment,
  variables: typeof listenVariables | null = null,
): string {
  try {
    if (variables) readConfig(variables, environment);
    else read(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('the configuration was taken');
}

describe('the configuration of an empty environment', () => {
  it('has the documented defaults', () => {
    expect(read({})).toEqual({
      DATABASE_URL: undefined,
      DATA_DIR: resolve('.data'),
      BASE_PATH: '',
      DATABASE_POOL_SIZE: 10,
      EMBEDDED_DB_PORT: 0,
      EMBEDDED_DB_PASSWORD: undefined,
      UPSTASH_REDIS_REST_URL: undefined,
      UPSTASH_REDIS_REST_TOKEN: undefined,
      LOG_LEVEL: 'info',
      API_REQUIRE_AUTH: true,
      INTERNAL_SECRET: undefined,
      TRUSTED_PROXIES: [],
      TRUST_PROXY_HEADER: 'X-Forwarded-For',
      MAX_WAITING_QUERIES: 250,
      AUTH_USERNAME: undefined,
      AUTH_PASSWORD: undefined,
      JWT_SECRET: undefined,
      JWT_ISSUER: 'backup',
      JWT_AUDIENCE: 'backup',
      JWT_EXPIRES_MINUTES: 720,
      USER_MAX_REQUESTS_PER_MINUTE: 600,
      LOGIN_MAX_FAILURES: 5,
      LOGIN_FAILURE_WINDOW_SECONDS: 300,
      CRON_SECRET: undefined,
      STALE_RUN_AFTER_MINUTES: 30,
      FRESHNESS_HOURS: 26,
      BACKUP_EVERY: undefined,
      BACKUP_SOURCES: [],
      BACKUP_TIME_ZONE: new Intl.DateTimeFormat().resolvedOptions().timeZone,
      WORKER_MEMORY_MIB: 512,
      GIT_HOST_URL: 'https://github.com',
      METRICS_REPOSITORIES: 2000,
      ALERT_FAILING_AFTER: 2,
      ALERT_CHANNELS: [],
      RESEND_API_KEY: undefined,
      RESEND_BASE_URL: 'https://api.resend.com',
      SMTP_FROM: undefined,
      SMTP_TO: [],
      CREDENTIALS_ENCRYPTION_KEY: undefined,
    });
  });

  it('is the same as one with only empty values', () => {
    const empty = Object.fromEntries(Object.keys(backupsVariables.shape).map((name) => [name, '']));
    expect(read(empty)).toEqual(read({}));
  });
});

describe('BACKUP_SOURCES', () => {
  it('lists addresses and folders, each once', () => {
    const given = 'https://git.example.com/ada/App.git, ~/git, src,https://git.example.com/ada/app';
    expect(read({ BACKUP_SOURCES: given }).BACKUP_SOURCES).toEqual([
      {
        address: 'https://git.example.com/ada/App.git',
        key: 'git.example.com/ada/app',
        kind: 'address',
      },
      { address: join(homedir(), 'git'), key: join(homedir(), 'git'), kind: 'folder' },
      { address: resolve('src'), key: resolve('src'), kind: 'folder' },
    ]);
  });
});

describe('an invalid value', () => {
  it.each([
    ['DATABASE_URL', 'mysql://me:hunter2@host/db'],
    ['DATABASE_URL', 'hunter2'],
    ['DATABASE_POOL_SIZE', '0'],
    ['EMBEDDED_DB_PORT', '65536'],
    ['EMBEDDED_DB_PORT', '12.5'],
    ['EMBEDDED_DB_PORT', 'hunter2'],
    ['EMBEDDED_DB_PASSWORD', 'hunter2'],
    ['EMBEDDED_DB_PASSWORD', 'hunter2 hunter2'.repeat(3)],
    ['EMBEDDED_DB_PASSWORD', 'hunter2'.repeat(5).slice(0, 31)],
    ['UPSTASH_REDIS_REST_URL', 'redis://hunter2@host'],
    ['UPSTASH_REDIS_REST_URL', 'https://me:hunter2@host'],
    ['UPSTASH_REDIS_REST_URL', 'http://hunter2.example'],
    ['CRON_SECRET', 'hunter2-and-24-letters-more-000'.slice(0, 31)],
    ['LOG_LEVEL', 'hunter2'],
    ['ALERT_FAILING_AFTER', '0'],
    ['ALERT_FAILING_AFTER', '1.5'],
    ['API_REQUIRE_AUTH', 'yes'],
    ['API_REQUIRE_AUTH', '0'],
    ['TRUSTED_PROXIES', '10.0.0.1,hunter2'],
    ['TRUSTED_PROXIES', '10.0.0.0/33'],
    ['TRUSTED_PROXIES', '10.1'],
    ['TRUSTED_PROXIES', '010.0.0.1'],
    ['TRUST_PROXY_HEADER', 'X Forwarded: hunter2'],
    ['STALE_RUN_AFTER_MINUTES', '0'],
    ['STALE_RUN_AFTER_MINUTES', '-5'],
    ['STALE_RUN_AFTER_MINUTES', 'hunter2'],
    ['FRESHNESS_HOURS', '0'],
    ['FRESHNESS_HOURS', '8761'],
    ['FRESHNESS_HOURS', '1.5'],
    ['FRESHNESS_HOURS', 'hunter2'],
    ['METRICS_REPOSITORIES', '-1'],
    ['METRICS_REPOSITORIES', '100001'],
    ['METRICS_REPOSITORIES', 'hunter2'],
    ['BACKUP_EVERY', '24'],
    ['BACKUP_EVERY', '0h'],
    ['BACKUP_EVERY', '-1h'],
    ['BACKUP_EVERY', '1.5h'],
    ['BACKUP_EVERY', '1h30m'],
    ['BACKUP_EVERY', '366d'],
    ['BACKUP_EVERY', '0 0 30 2 *'],
    ['BACKUP_EVERY', 'daily at 25:00'],
    ['BACKUP_TIME_ZONE', 'hunter2/Nowhere'],
    ['WORKER_MEMORY_MIB', '63'],
    ['BACKUP_EVERY', 'hunter2'],
    ['BACKUP_SOURCES', '/srv/git,https://me:hunter2@git.example.com/ada/app'],
    ['BACKUP_SOURCES', 'ftp://hunter2/ada/app'],
  ])('of %s is reported without the value: %s', (name, value) => {
    const fault = faultOf({ [name]: value });
    expect(fault).toMatch(new RegExp(`^${name} must `));
    expect(fault).not.toContain('hunter2');
    expect(fault).not.toContain('\n');
  });

  it('is reported together with other invalid values', () => {
    const fault = faultOf({ LOG_LEVEL: 'loud', API_REQUIRE_AUTH: 'maybe' });
    expect(fault).toContain('LOG_LEVEL must');
    expect(fault).toContain('API_REQUIRE_AUTH must');
  });

  it('is ignored if the variable is not used', () => {
    expect(readConfig(listenVariables, { LOG_LEVEL: 'loud' }).HOST).toBe('127.0.0.1');
  });
});

describe('BACKUP_EVERY', () => {
  it.each([
    ['30m', 1_800_000],
    ['24h', 86_400_000],
    ['1d', 86_400_000],
    ['2w', 1_209_600_000],
    ['365d', 31_536_000_000],
  ])('reads %s as %d ms', (text, everyMs) => {
    expect(read({ BACKUP_EVERY: text }).BACKUP_EVERY?.intervalMs).toBe(everyMs);
  });
});

describe('GIT_STALL_SECONDS', () => {
  it.each([
    [{}, 300],
    [{ GIT_STALL_SECONDS: '1' }, 1],
    [{ GIT_STALL_SECONDS: '3600' }, 3_600],
  ])('is read from %o as %i', (environment, seconds) => {
    expect(readConfig(workerVariables, environment).GIT_STALL_SECONDS).toBe(seconds);
  });

  it.each(['0', '3601', 'soon'])('is rejected as %s', (value) => {
    expect(() => readConfig(workerVariables, { GIT_STALL_SECONDS: value })).toThrow(
      'GIT_STALL_SECONDS must be a whole number, 1 to 3600',
    );
  });
});

describe('BACKUP_CONCURRENCY', () => {
  it.each([
    [{}, 4],
    [{ BACKUP_CONCURRENCY: '1' }, 1],
    [{ BACKUP_CONCURRENCY: '64' }, 64],
  ])('for %j is %d', (environment, concurrency) => {
    expect(readConfig(workerVariables, environment).BACKUP_CONCURRENCY).toBe(concurrency);
  });

  it.each(['0', '65', '1.5', 'many'])('cannot be %s', (value) => {
    expect(() => readConfig(workerVariables, { BACKUP_CONCURRENCY: value })).toThrow(
      'BACKUP_CONCURRENCY must be a whole number, 1 to 64',
    );
  });
});

describe('a secret', () => {
  const read = (environment: Environment) => readConfig(localVariables, environment);

  it.each([
    ['CRON_SECRET', 32],
    ['MCP_AUTH_TOKEN', 32],
    ['JWT_SECRET', 32],
    ['AUTH_PASSWORD', 12],
  ])('in %s must have at least %d characters', (name, least) => {
    const long = `hunter2-${'x'.repeat(least - 8)}`;
    expect(() => read({ [name]: long })).not.toThrow();
    expect(() => read({ [name]: long.slice(1) })).toThrow(
      new ConfigError(`${name} must have at least ${least} characters`),
    );
  });

  it('for another service may have any length', () => {
    const short = { GATEWAY_API_KEYS: 'k', RESEND_API_KEY: 'k', UPSTASH_REDIS_REST_TOKEN: 'k' };
    expect(() => read({ ...short, GIT_TOKEN_PERSONAL: 'k' })).not.toThrow();
  });
});

describe('an address that secrets are sent to', () => {
  const names = [
    'GATEWAY_BASE_URL',
    'GATEWAY_AUTH_URL',
    'GATEWAY_AUTHORIZE_URL',
    'BACKEND_URL',
    'OBSERVATORY_URL',
    'RESEND_BASE_URL',
    'UPSTASH_REDIS_REST_URL',
    'KV_REST_API_URL',
  ];
  const read = (environment: Environment) => readConfig(localVariables, environment);

  it.each(names)('in %s may be https, or http to loopback', (name) => {
    const hosts = ['localhost:1', '127.0.0.1', '127.9.9.9:8080', '[::1]:8080'];
    const urls = ['https://host.example/x', ...hosts.map((host) => `http://${host}`)];
    for (const url of urls) expect(() => read({ [name]: url })).not.toThrow();
  });

  it.each(names)('in %s must not be plain http to other hosts', (name) => {
    const hosts = ['host.example', '10.0.0.1', 'localhost.host.example', '0.0.0.0', '[::2]'];
    for (const host of hosts) {
      expect(() => read({ [name]: `http://${host}:8080/hunter2` })).toThrow(
        /^\w+_URL must be an https URL without credentials \(http to loopback only\)$/,
      );
    }
  });
});

describe('a list', () => {
  it('is read without white space or empty entries', () => {
    expect(read({ TRUSTED_PROXIES: ' 10.0.0.1 ,,::1/128, ' }).TRUSTED_PROXIES).toEqual([
      '10.0.0.1',
      '::1/128',
    ]);
  });
});

describe("the platform's names of Redis", () => {
  const platform = {
    KV_REST_API_URL: 'https://platform.example',
    KV_REST_API_TOKEN: 'platform',
  };

  it('are read when ours are unset or empty', () => {
    expect(read({ ...platform, UPSTASH_REDIS_REST_URL: '' })).toMatchObject({
      UPSTASH_REDIS_REST_URL: 'https://platform.example',
      UPSTASH_REDIS_REST_TOKEN: 'platform',
    });
  });

  it('have lower precedence than ours', () => {
    const own = { UPSTASH_REDIS_REST_URL: 'https://own.example' };
    expect(read({ ...platform, ...own }).UPSTASH_REDIS_REST_URL).toBe('https://own.example');
  });
});

describe('the port to listen on', () => {
  const portOf = (environment: Environment) => listenPort(readConfig(listenVariables, environment));

  it('is PORT, SERVER_PORT or 8080, in this order', () => {
    expect(portOf({ PORT: '3000', SERVER_PORT: '4000' })).toBe(3000);
    expect(portOf({ SERVER_PORT: '4000' })).toBe(4000);
    expect(portOf({ PORT: '', SERVER_PORT: '4000' })).toBe(4000);
    expect(portOf({})).toBe(8080);
  });

  it.each(['-1', '65536', 'http', '80 80', '1e9', '0x1F90'])('cannot be %j', (value) => {
    expect(faultOf({ PORT: value }, listenVariables)).toMatch(/^PORT must be a port number/);
  });
});

describe('BASE_PATH', () => {
  const read = (BASE_PATH: string) => readConfig(listenVariables, { BASE_PATH }).BASE_PATH;

  it.each([
    ['', ''],
    ['/', ''],
    ['/backup', '/backup'],
    ['/backup/', '/backup'],
    ['/tools/git-backup_2.0~x', '/tools/git-backup_2.0~x'],
  ])('%j becomes %j', (given, expected) => expect(read(given)).toBe(expected));

  it.each([
    'backup',
    '//',
    '//host',
    '/a//b',
    '/../x',
    '/a/.',
    '/a b',
    '/a?b',
    '/a"b',
    '/ä',
    'http://x',
  ])('cannot be %j', (value) => {
    expect(faultOf({ BASE_PATH: value }, listenVariables)).toMatch(
      /^BASE_PATH must be a path like \/backup/,
    );
  });
});

describe('the folder of the archives', () => {
  it('is in DATA_DIR by default', () => {
    expect(archivePath({ DATA_DIR: '/data' })).toBe('/data/archives');
    const { BACKUP_ARCHIVE_PATH } = readConfig(archiveVariables, { BACKUP_ARCHIVE_PATH: 'kept' });
    expect(archivePath({ BACKUP_ARCHIVE_PATH, DATA_DIR: '/data' })).toBe(resolve('kept'));
  });
});

import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { archivePath, archiveVariables } from '../../lib/platform/config/archives.ts';
import { backupsVariables } from '../../lib/platform/config/backups.ts';
import { listenPort, listenVariables } from '../../lib/platform/config/listen.ts';
import { ConfigError, type Environment, readConfig } from '../../lib/platform/config/read.ts';

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
  it('has the defaults of the decisions', () => {
    expect(read({})).toEqual({
      DATABASE_URL: undefined,
      DATA_DIR: resolve('.data'),
      DATABASE_POOL_SIZE: 10,
      EMBEDDED_DB_PORT: 54329,
      UPSTASH_REDIS_REST_URL: undefined,
      UPSTASH_REDIS_REST_TOKEN: undefined,
      LOG_LEVEL: 'info',
      API_REQUIRE_AUTH: true,
      INTERNAL_SECRET: undefined,
      TRUSTED_PROXIES: [],
      TRUST_PROXY_HEADER: 'X-Forwarded-For',
      MAX_WAITING_QUERIES: 250,
      CRON_SECRET: undefined,
      STALE_RUN_AFTER_MINUTES: 30,
    });
  });

  it('is also that of one whose values are empty', () => {
    const empty = Object.fromEntries(Object.keys(backupsVariables.shape).map((name) => [name, '']));
    expect(read(empty)).toEqual(read({}));
  });
});

describe('a bad value', () => {
  it.each([
    ['DATABASE_URL', 'mysql://me:hunter2@host/db'],
    ['DATABASE_URL', 'hunter2'],
    ['DATABASE_POOL_SIZE', '0'],
    ['EMBEDDED_DB_PORT', '65536'],
    ['EMBEDDED_DB_PORT', '12.5'],
    ['EMBEDDED_DB_PORT', 'hunter2'],
    ['UPSTASH_REDIS_REST_URL', 'redis://hunter2@host'],
    ['UPSTASH_REDIS_REST_URL', 'https://me:hunter2@host'],
    ['LOG_LEVEL', 'hunter2'],
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
  ])('of %s is named without the value: %s', (name, value) => {
    const fault = faultOf({ [name]: value });
    expect(fault).toMatch(new RegExp(`^${name} must `));
    expect(fault).not.toContain('hunter2');
    expect(fault).not.toContain('\n');
  });

  it('is named beside the others', () => {
    const fault = faultOf({ LOG_LEVEL: 'loud', API_REQUIRE_AUTH: 'maybe' });
    expect(fault).toContain('LOG_LEVEL must');
    expect(fault).toContain('API_REQUIRE_AUTH must');
  });

  it('of a variable that is not asked for does not matter', () => {
    expect(readConfig(listenVariables, { LOG_LEVEL: 'loud' }).HOST).toBe('127.0.0.1');
  });
});

describe('a list', () => {
  it('is read without blanks and empty entries', () => {
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

  it('stand behind ours', () => {
    const own = { UPSTASH_REDIS_REST_URL: 'https://own.example' };
    expect(read({ ...platform, ...own }).UPSTASH_REDIS_REST_URL).toBe('https://own.example');
  });
});

describe('the port to listen on', () => {
  const portOf = (environment: Environment) => listenPort(readConfig(listenVariables, environment));

  it('is PORT, else SERVER_PORT, else 8080', () => {
    expect(portOf({ PORT: '3000', SERVER_PORT: '4000' })).toBe(3000);
    expect(portOf({ SERVER_PORT: '4000' })).toBe(4000);
    expect(portOf({ PORT: '', SERVER_PORT: '4000' })).toBe(4000);
    expect(portOf({})).toBe(8080);
  });

  it.each(['-1', '65536', 'http', '80 80', '1e9', '0x1F90'])('cannot be %j', (value) => {
    expect(faultOf({ PORT: value }, listenVariables)).toMatch(/^PORT must be a port number/);
  });
});

describe('the folder of the archives', () => {
  it('is in DATA_DIR unless it is set', () => {
    expect(archivePath({ DATA_DIR: '/data' })).toBe('/data/archives');
    const { BACKUP_ARCHIVE_PATH } = readConfig(archiveVariables, { BACKUP_ARCHIVE_PATH: 'kept' });
    expect(archivePath({ BACKUP_ARCHIVE_PATH, DATA_DIR: '/data' })).toBe(resolve('kept'));
  });
});

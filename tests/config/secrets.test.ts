import { describe, expect, it } from 'vitest';
import { localVariables } from '../../lib/config/local/local.ts';
import { configuredSecrets } from '../../lib/config/secrets.ts';

describe('the configured secrets', () => {
  it.each([
    'INTERNAL_SECRET',
    'MCP_AUTH_TOKEN',
    'CRON_SECRET',
    'JWT_SECRET',
    'AUTH_PASSWORD',
    'CREDENTIALS_ENCRYPTION_KEY',
    'GATEWAY_API_KEYS',
    'RESEND_API_KEY',
    'SMTP_PASSWORD',
    'UPSTASH_REDIS_REST_TOKEN',
    'KV_REST_API_TOKEN',
    'GIT_TOKEN_PERSONAL',
    'GIT_TOKEN_PRIVATE',
    'AWS_SECRET_ACCESS_KEY',
    'AWS_SESSION_TOKEN',
    'AWS_CONTAINER_AUTHORIZATION_TOKEN',
  ])('include the value of %s', (name) => {
    expect(configuredSecrets({ [name]: 'the value' })).toEqual(['the value']);
  });

  it('include each of several keys', () => {
    expect(configuredSecrets({ GATEWAY_API_KEYS: 'first-key, second-key' })).toEqual([
      'first-key, second-key',
      'first-key',
      'second-key',
    ]);
  });

  it.each([
    ['postgres://me:pass%2Fword@host/db', ['pass%2Fword', 'pass/word']],
    ['postgres://me:100%25@host/db', ['100%25', '100%']],
    ['postgres://host/db?user=me&password=pass%2Fword', ['pass/word']],
    ['postgres://me@host/db', []],
    ['no address', []],
  ])('include the password of DATABASE_URL %s', (address, passwords) => {
    expect(configuredSecrets({ DATABASE_URL: address })).toEqual(passwords);
  });

  it('are empty when nothing is set', () => {
    expect(configuredSecrets({ INTERNAL_SECRET: '', LOG_LEVEL: 'info' })).toEqual([]);
  });

  it('include every variable whose name suggests a secret', () => {
    const named = Object.keys(localVariables.shape).filter((name) =>
      /SECRET|TOKEN|PASSWORD|KEY/.test(name),
    );
    const flags = ['GATEWAY_ALLOW_SERVER_KEYS'];
    for (const name of named.filter((name) => !flags.includes(name))) {
      expect(configuredSecrets({ [name]: 'the value' }), name).toEqual(['the value']);
    }
    expect(named.length).toBeGreaterThan(5);
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../lib/clock.ts';
import { createKeychain } from '../../../lib/worker/base/keychain.ts';
import type { AuthStatus } from '../../../lib/worker/logins/auth-status.ts';
import { runLoginCommand } from '../../../lib/worker/logins/commands.ts';
import { makeToken } from '../../support/git-host/state.ts';
import { factsAt, openTestSession, storeAppLogin, useLoginBench } from '../../support/logins.ts';
import {
  hasSecretService,
  type SecretService,
  startSecretService,
} from '../../support/secret-service.ts';

const bench = useLoginBench();

async function status(options: { check?: boolean; env?: Record<string, string> } = {}) {
  const { session, written } = openTestSession(bench, options.env ? { env: options.env } : {});
  const command = { name: 'auth status', check: options.check ?? false, json: true } as const;
  const code = await runLoginCommand(session, command);
  return { code, shown: JSON.parse(written.stdout) as AuthStatus, written };
}

const check = async (env?: Record<string, string>) =>
  (await status({ check: true, ...(env ? { env } : {}) })).code;

describe('auth status', () => {
  it('reports the store of each login, its expiry and whether a scheduled run could read it', async () => {
    await storeAppLogin(bench, 'github:source', ['file']);
    const imported = {
      facts: factsAt(bench.host, { kind: 'token', client_id: null }),
      secrets: { token: makeToken('gho'), refresh_token: null },
    };
    await bench.store.save('github:destination', imported, ['keychain']);
    const { shown } = await status();
    expect(shown.logins).toEqual([
      {
        login: 'github:source',
        kind: 'app',
        account: 'ada',
        host: bench.host.url,
        store: 'file',
        expires_at: new Date(bench.clock.now() + 8 * 3_600_000).toISOString(),
        refresh_expires_at: expect.any(String),
        unreadable: null,
        unusable: null,
        scheduled: true,
      },
      {
        login: 'github:destination',
        kind: 'token',
        account: 'ada',
        host: bench.host.url,
        store: 'keychain',
        expires_at: null,
        refresh_expires_at: null,
        unreadable: null,
        unusable: null,
        // There is no keychain that cron could reach.
        scheduled: false,
      },
    ]);
    expect(shown).toMatchObject({ discovery: 'auto', app: null, credentials: bench.store.path });
  });

  it('shows why a login cannot be read', async () => {
    await storeAppLogin(bench);
    bench.keychain.fault = 'it is locked';
    const { shown } = await status();
    expect(shown.logins).toMatchObject([{ unreadable: 'it is locked', scheduled: false }]);
  });

  it('reports which tokens of the environment are set and used, never what they are', async () => {
    const token = makeToken('ghp');
    const env = { GIT_TOKEN_PRIVATE: token };
    const before = await status({ env });
    expect(before.shown).toMatchObject({
      environment_tokens: [{ name: 'GIT_TOKEN_PRIVATE', used: true }],
      discovery: 'accounts',
    });
    await storeAppLogin(bench);
    const after = await status({ env });
    expect(after.shown.environment_tokens).toEqual([{ name: 'GIT_TOKEN_PRIVATE', used: false }]);
    expect(JSON.stringify([before, after])).not.toContain(token);
  });

  it('is readable without --json', async () => {
    await storeAppLogin(bench, 'github:source', ['file']);
    const { session, written } = openTestSession(bench);
    await runLoginCommand(session, { name: 'auth status', check: false, json: false });
    expect(written.stdout).toMatch(
      /^source login \(github:source\): http:\S+ as ada, app, in the file\n {2}token until \S+Z\n {2}renewed automatically until \S+Z\n {2}a scheduled run can read it\n/,
    );
  });
});

describe('auth status --check', () => {
  it('exits with 4 when nothing is configured', async () => {
    expect(await check()).toBe(4);
  });

  it('exits with 4 when only the gateway has a login', async () => {
    const login = {
      facts: factsAt(bench.host, { kind: 'key' }),
      secrets: { token: 'sk-or-1', refresh_token: null },
    };
    await bench.store.save('gateway:default', login, ['file']);
    expect(await check()).toBe(4);
  });

  it.each(['github:source', 'github:destination'] as const)(
    'exits with 0 with %s',
    async (name) => {
      await storeAppLogin(bench, name, ['file']);
      expect(await check()).toBe(0);
    },
  );

  it('exits with 0 with a token from the environment', async () => {
    expect(await check({ GIT_TOKEN_PERSONAL: makeToken('ghp') })).toBe(0);
  });

  it('exits with 4 when the login has expired, but not while it can be renewed', async () => {
    await storeAppLogin(bench, 'github:source', ['file']);
    bench.clock.advance(9 * 3_600_000);
    expect(await check()).toBe(0);
    bench.clock.advance(184 * 24 * 3_600_000);
    expect(await check()).toBe(4);
    expect((await status()).shown.logins).toMatchObject([{ unusable: 'it has expired' }]);
  });

  it('exits with 4 when the login is for another host than GIT_HOST_URL', async () => {
    await storeAppLogin(bench, 'github:source', ['file']);
    const env = { GIT_HOST_URL: 'https://git.example.org' };
    expect(await check(env)).toBe(4);
    const { session, written } = openTestSession(bench, { env });
    await runLoginCommand(session, { name: 'auth status', check: false, json: false });
    expect(written.stdout).toMatch(/cannot be used: it is for http:\S+, but GIT_HOST_URL is/);
  });

  it('exits with 1 when the login cannot be read, even with a token from the environment', async () => {
    await storeAppLogin(bench);
    bench.keychain.fault = 'no bus';
    expect(await check()).toBe(1);
    expect(await check({ GIT_TOKEN_PERSONAL: makeToken('ghp') })).toBe(1);
  });
});

describe.skipIf(!hasSecretService)('a login in the keychain of a desktop session', () => {
  let desktop: SecretService;
  beforeAll(async () => {
    desktop = await startSecretService();
  });
  afterAll(() => desktop.close());

  it('can be read now, but not by a scheduled run', async () => {
    Object.assign(bench.keychain, createKeychain(desktop.env, systemClock));
    const secrets = { token: makeToken('ghu'), refresh_token: null };
    await bench.store.save('github:source', { facts: factsAt(bench.host), secrets }, ['keychain']);
    const { session, written } = openTestSession(bench, { env: desktop.env });
    const command = { name: 'auth status', check: true, json: true } as const;
    expect(await runLoginCommand({ ...session, clock: systemClock }, command)).toBe(0);
    expect(JSON.parse(written.stdout).logins).toMatchObject([
      { store: 'keychain', unreadable: null, scheduled: false },
    ]);
  });
});

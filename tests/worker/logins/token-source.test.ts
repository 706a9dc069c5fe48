import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { gitHostVariables } from '../../../lib/config/git-host.ts';
import { readConfig } from '../../../lib/config/read.ts';
import { loginSecrets } from '../../../lib/worker/logins/login.ts';
import { openLoginStore } from '../../../lib/worker/logins/login-store.ts';
import { openLoginTokens, openTokenSource } from '../../../lib/worker/logins/token-source.ts';
import { grantAppToken, makeToken } from '../../support/git-host/state.ts';
import { factsAt, storeAppLogin, untilSleeping, useLoginBench } from '../../support/logins.ts';

const HOURS = 3_600_000;
const bench = useLoginBench();

const open = (env: Record<string, string> = {}) =>
  openTokenSource({
    ...bench,
    config: readConfig(gitHostVariables, { GIT_HOST_URL: bench.host.url, ...env }),
  });
const refreshes = () =>
  bench.host.state.requests.filter(({ body }) => body.grant_type === 'refresh_token');
const isValid = (token: string) => {
  const grant = bench.host.state.tokens.get(token);
  return grant !== undefined && (grant.endsAt ?? 0) > bench.clock.now();
};

describe('the tokens of a run with a source login', () => {
  it('are those of the login, whatever the environment has', async () => {
    const { token } = await storeAppLogin(bench);
    const source = await open({ GIT_TOKEN_PERSONAL: makeToken('ghp') });
    expect(await source.source('project')).toBe(token);
    expect(source).toMatchObject({ origin: 'login', discovery: 'auto' });
    expect(refreshes()).toEqual([]);
  });

  it('are renewed shortly before they expire, throughout the run', async () => {
    const first = await storeAppLogin(bench);
    const source = await open();
    bench.clock.advance(8 * HOURS - 6 * 60_000);
    expect(await source.source('private')).toBe(first.token);
    bench.clock.advance(2 * 60_000);
    const second = await source.source('private');
    bench.clock.advance(8 * HOURS);
    const third = await source.source('private');
    expect(new Set([first.token, second, third]).size).toBe(3);
    expect(isValid(third)).toBe(true);
    expect(refreshes()).toHaveLength(2);
    expect(refreshes()[0]?.body).toMatchObject({
      client_id: 'Iv1.standin',
      refresh_token: first.refreshToken,
    });
    expect(refreshes()[0]?.body).not.toHaveProperty('client_secret');
  });

  it('are stored with the rotated refresh token before they are used', async () => {
    await storeAppLogin(bench);
    bench.clock.advance(8 * HOURS);
    const token = await (await open()).source('project');
    const stored = await bench.store.find('github:source');
    const secrets = stored && (await bench.store.secretsOf('github:source', stored));
    expect(secrets?.token).toBe(token);
    expect(bench.host.state.refreshTokens.has(secrets?.refresh_token ?? '')).toBe(true);
    expect(Date.parse(stored?.expires_at ?? '')).toBe(bench.clock.now() + 8 * HOURS);
  });

  it('are not renewed if they could not be stored, so that the refresh token is not used up', async () => {
    const granted = grantAppToken(bench.host.state, 'ada', 'Iv1.standin');
    const login = {
      facts: factsAt(bench.host, { expires_at: new Date(0).toISOString() }),
      secrets: { token: granted.access_token, refresh_token: granted.refresh_token },
    };
    await bench.store.save('github:source', login, ['file']);
    const child = join(import.meta.dirname, 'refresh-child.ts');
    const ask = async (before: string) => {
      const command = `${before} exec "$@"`;
      const args = [process.execPath, child, bench.folder, bench.host.url];
      return (await execa('sh', ['-c', command, 'sh', ...args])).stdout;
    };
    // No file may grow, as on a full disk.
    expect(await ask("trap '' XFSZ; ulimit -f 0;")).toBe('CREDENTIAL_STORAGE_UNAVAILABLE');
    expect(refreshes()).toEqual([]);
    expect(await ask('')).toBe('a token');
    expect(refreshes()).toHaveLength(1);
  });

  it('are renewed once for concurrent requests, in this process and in others', async () => {
    await storeAppLogin(bench, 'github:source', ['file']);
    bench.clock.advance(8 * HOURS);
    // Each store stands for a process: they share nothing but the files and their lock.
    const others = await Promise.all(
      [1, 2, 3].map(() =>
        openTokenSource({ ...bench, store: openLoginStore({ ...bench, notify: () => undefined }) }),
      ),
    );
    const tokens = await Promise.all(
      others.flatMap((source) => [source.source('project'), source.source('private')]),
    );
    expect(new Set(tokens).size).toBe(1);
    expect(refreshes()).toHaveLength(1);
  });

  it('end with a request to log in again when the refresh token is rejected', async () => {
    const { refreshToken } = await storeAppLogin(bench);
    bench.clock.advance(8 * HOURS);
    bench.host.state.refreshTokens.delete(refreshToken);
    await expect((await open()).source('project')).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringMatching(
        /bad_refresh_token.*Log in again: npm run worker -- login github$/,
      ),
    });
  });

  it('are renewed even if the host fails a few times', async () => {
    await storeAppLogin(bench);
    bench.clock.advance(8 * HOURS);
    // The third response comes from something else, such as a wrong proxy.
    bench.host.state.polls.push(
      { status: 502 },
      { status: 503, error: 'server_error' },
      { status: 200 },
    );
    const token = (await open()).source('project');
    for (const pause of [1_000, 4_000, 15_000]) {
      await untilSleeping(bench);
      bench.clock.advance(pause);
    }
    expect(isValid(await token)).toBe(true);
    expect(refreshes()).toHaveLength(4);
  });

  it('are stored even if the run is interrupted while the host renews them', async () => {
    const first = await storeAppLogin(bench);
    bench.clock.advance(8 * HOURS);
    const interrupt = new AbortController();
    const interrupting: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      interrupt.abort(new Error('interrupted'));
      init?.signal?.throwIfAborted();
      return response;
    };
    const connection = { ...bench.connection, fetch: interrupting, signal: interrupt.signal };
    const source = await openTokenSource({ ...bench, connection });
    expect(isValid(await source.source('project'))).toBe(true);
    const stored = await bench.store.find('github:source');
    const secrets = stored && (await bench.store.secretsOf('github:source', stored));
    expect(secrets?.refresh_token).not.toBe(first.refreshToken);
    expect(bench.host.state.refreshTokens.has(secrets?.refresh_token ?? '')).toBe(true);
  });

  it('keep a refresh token that the host does not replace', async () => {
    const { refreshToken } = await storeAppLogin(bench);
    bench.clock.advance(8 * HOURS);
    bench.host.state.polls.push({ keepsRefreshToken: true });
    const source = await open();
    expect(isValid(await source.source('project'))).toBe(true);
    bench.clock.advance(8 * HOURS);
    expect(isValid(await source.source('project'))).toBe(true);
    expect(refreshes().map(({ body }) => body.refresh_token)).toEqual([refreshToken, refreshToken]);
  });

  it('are not requested so late that other processes would stop waiting for the lock', async () => {
    await storeAppLogin(bench);
    bench.clock.advance(8 * HOURS);
    const slow: typeof fetch = async () => {
      bench.clock.advance(30_000);
      throw new DOMException('it took too long', 'TimeoutError');
    };
    const connection = { ...bench.connection, fetch: slow };
    const source = await openTokenSource({ ...bench, connection });
    const before = bench.clock.now();
    await expect(source.source('project')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    expect(bench.clock.now() - before).toBe(30_000);
  });

  it('are not renewed by an unexpected response, which is not repeated in the error', async () => {
    const { refreshToken } = await storeAppLogin(bench);
    bench.clock.advance(8 * HOURS);
    bench.host.state.polls.push({ status: 400, echo: true });
    const source = await open();
    const fault = await source.source('project').catch((error: Error) => error);
    expect(fault).toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: expect.stringMatching(/ answered 400$/),
    });
    expect(inspect(fault, { depth: null })).not.toContain(refreshToken);
    // The refresh token is not spent: the next attempt succeeds.
    expect(isValid(await source.source('project'))).toBe(true);
  });

  it('end with a request to log in again when the refresh token has expired, without asking', async () => {
    await storeAppLogin(bench);
    bench.clock.advance(184 * 24 * HOURS);
    await expect((await open()).source('project')).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining('it has expired'),
    });
    expect(refreshes()).toEqual([]);
  });

  it('move to the file, with a notice, when the keychain fails after a refresh', async () => {
    await storeAppLogin(bench);
    bench.clock.advance(8 * HOURS);
    const write = bench.keychain.write;
    bench.keychain.write = async (name, secret) => {
      bench.keychain.fault = 'it is locked';
      await write(name, secret);
    };
    const token = await (await open()).source('project');
    const stored = await bench.store.find('github:source');
    expect(stored?.store).toBe('file');
    expect(loginSecrets.parse(stored).token).toBe(token);
    expect(bench.notices[0]).toMatch(
      /credentials\.json, because it could not be stored in the keychain: it is locked/,
    );
  });

  it('are never those of the environment when the keychain cannot be read', async () => {
    await storeAppLogin(bench);
    bench.keychain.fault = 'no bus';
    const source = await open({ GIT_TOKEN_PERSONAL: makeToken('ghp') });
    await expect(source.source('project')).rejects.toMatchObject({
      code: 'CREDENTIAL_STORAGE_UNAVAILABLE',
      message: 'the keychain could not be read (no bus): log in again with --store file',
    });
    bench.keychain.fault = null;
    expect(isValid(await source.source('project'))).toBe(true);
  });

  it('are never those of the environment when credentials.json is invalid', async () => {
    await mkdir(bench.folder, { mode: 0o700 });
    await writeFile(join(bench.folder, 'credentials.json'), '{"version": 1, "logi');
    await expect(open({ GIT_TOKEN_PERSONAL: makeToken('ghp') })).rejects.toMatchObject({
      code: 'CREDENTIAL_STORAGE_UNAVAILABLE',
      message: expect.stringMatching(
        /credentials\.json is not valid: move it away and log in again$/,
      ),
    });
  });

  it("are never sent to a host other than the login's", async () => {
    await storeAppLogin(bench);
    const source = await open({ GIT_HOST_URL: 'https://git.example.org' });
    await expect(source.source('project')).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining('GIT_HOST_URL is another host'),
    });
  });

  it('find repositories by accounts when the token was imported', async () => {
    const login = {
      facts: factsAt(bench.host, { kind: 'token', client_id: null }),
      secrets: { token: makeToken('gho'), refresh_token: null },
    };
    await bench.store.save('github:source', login, ['file']);
    expect((await open()).discovery).toBe('accounts');
    await storeAppLogin(bench);
    expect((await open({ GIT_DISCOVERY: 'accounts' })).discovery).toBe('accounts');
  });
});

describe('the tokens of a run without a source login', () => {
  const [personal, other] = [makeToken('ghp'), makeToken('ghp')];
  it.each([
    [{ GIT_TOKEN_PERSONAL: personal, GIT_TOKEN_PRIVATE: other }, [personal, other, other]],
    [{ GIT_TOKEN_PERSONAL: personal }, [personal, personal, personal]],
    [{ GIT_TOKEN_PRIVATE: other }, [other, other, other]],
  ])('come from the environment, each standing in for the other (%#)', async (env, expected) => {
    const source = await open(env as Record<string, string>);
    const uses = ['project', 'organization', 'private'] as const;
    expect(await Promise.all(uses.map((use) => source.source(use)))).toEqual(expected);
    expect(source).toMatchObject({ origin: 'environment', discovery: 'accounts' });
  });

  it('are missing with a request to log in when nothing is set', async () => {
    await expect(open()).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining('npm run worker -- login github'),
    });
  });
});

it('the destination has its own token, or none', async () => {
  await storeAppLogin(bench);
  const tokens = openLoginTokens(bench);
  expect(await tokens.read('github:destination')).toBeNull();
  const { token } = await storeAppLogin(bench, 'github:destination');
  expect(await tokens.read('github:destination')).toBe(token);
  expect(await (await open()).source('project')).not.toBe(token);
});

import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { AppError } from '../../../lib/errors.ts';
import { runLoginCommand } from '../../../lib/worker/logins/commands.ts';
import type { LoginCommand } from '../../../lib/worker/logins/login-commands.ts';
import { makeToken } from '../../support/git-host/state.ts';
import { openTestSession, useLoginBench } from '../../support/logins.ts';

const bench = useLoginBench();

const plain = {
  name: 'login github',
  login: 'github:source',
  clientId: 'Iv1.standin',
  importToken: false,
  store: 'auto',
} as const satisfies LoginCommand;

interface Attempt {
  command?: Partial<Extract<LoginCommand, { name: 'login github' }>>;
  env?: Record<string, string>;
  stdin?: string;
}

/** Runs a login that is authorized at once, with a clock that advances by itself. */
async function logIn({ command = {}, ...options }: Attempt = {}) {
  const { session, written } = openTestSession(bench, options);
  let isOver = false;
  const outcome = runLoginCommand(session, { ...plain, ...command })
    .then(
      (code) => ({ code, error: null }),
      (error: AppError) => ({ code: null, error }),
    )
    .finally(() => {
      isOver = true;
    });
  while (!isOver) {
    await new Promise((done) => setImmediate(done));
    bench.host.approve('ada');
    if (bench.clock.sleepers() > 0) bench.clock.advance(1_000);
  }
  return { ...(await outcome), ...written };
}

const secretsOf = async (name: 'github:source' | 'github:destination') => {
  const login = await bench.store.find(name);
  return login && bench.store.secretsOf(name, login);
};
const install = (id: number, account: string, selection: 'all' | 'selected') =>
  bench.host.state.installations.push({
    id,
    account,
    selection,
    accountType: id % 2 === 0 ? 'User' : 'Organization',
    repositories: [],
  });

describe('login github', () => {
  it('records the account, stores the login and lists every installation', async () => {
    bench.host.state.pageSize = 1;
    install(1, 'team', 'all');
    install(2, 'ada', 'selected');
    const { code, stdout } = await logIn();
    expect(code).toBe(0);
    expect(stdout.replaceAll(/\d+\.\d+\.\d+\.\d+:\d+/g, 'host').split('\n')).toEqual([
      'Logged in to host as ada: source login, kept in the keychain.',
      'The app is installed on:',
      '  team (Organization, all repositories)',
      '  ada (User, selected repositories)',
      '',
    ]);
    expect(await bench.store.find('github:source')).toMatchObject({
      kind: 'app',
      account: 'ada',
      host: bench.host.url,
      client_id: 'Iv1.standin',
      store: 'keychain',
    });
    expect(bench.host.state.tokens.has((await secretsOf('github:source'))?.token ?? '')).toBe(true);
  });

  it('says which installation is suspended', async () => {
    install(1, 'team', 'all');
    Object.assign(bench.host.state.installations[0] ?? {}, { suspended: true });
    expect((await logIn()).stdout).toContain(
      '  team (Organization, suspended: it cannot read anything there)\n',
    );
  });

  it('says how to install the app where it is not installed', async () => {
    const { code, stderr } = await logIn();
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /not installed on any accessible account: install it .*GIT_DISCOVERY=accounts/,
    );
  });

  it('keeps the token even if the API does not answer', async () => {
    bench.host.state.apiAnswers.push(...Array(2).fill({ status: 404 }));
    const { code, stdout, stderr } = await logIn();
    expect(code).toBe(0);
    expect(stderr).toContain('The account could not be read');
    expect(stderr).toContain('The installations of the app could not be listed');
    expect(stdout).toMatch(/^Logged in to \S+: source login/);
    expect(await secretsOf('github:source')).not.toBeNull();
  });

  it('reports that the login is in the file if there is no keychain', async () => {
    bench.keychain.fault = 'no bus';
    const { stdout, stderr } = await logIn();
    expect(stdout).toContain(`kept in ${bench.store.path}.`);
    expect(stderr).toContain(
      `The login is kept in ${bench.store.path}, because it could not be stored in the keychain: no bus`,
    );
  });

  it('does not start when the login could not be stored', async () => {
    await mkdir(bench.folder, { recursive: true });
    await writeFile(bench.store.path, 'damaged');
    const { error } = await logIn();
    expect(error).toMatchObject({ code: 'CREDENTIAL_STORAGE_UNAVAILABLE' });
    expect(bench.host.state.requests).toEqual([]);
  });

  it.each([
    [{ command: { clientId: null } }, null],
    [{ command: { clientId: null }, env: { GIT_APP_CLIENT_ID: 'Iv1.standin' } }, 'Iv1.standin'],
    [{ env: { GIT_APP_CLIENT_ID: 'Iv1.other' } }, 'Iv1.standin'],
  ] as [Attempt, string | null][])('uses the client id from %j: %s', async (attempt, clientId) => {
    const { error } = await logIn(attempt);
    if (clientId === null) {
      expect(error).toMatchObject({
        code: 'BAD_REQUEST',
        message: expect.stringMatching(/^no app client id: set GIT_APP_CLIENT_ID.*--import-token$/),
      });
    } else expect(bench.host.state.requests[0]?.body).toEqual({ client_id: clientId });
  });

  it('says that a login of the app is not enough to push', async () => {
    const { code, stderr } = await logIn({ command: { login: 'github:destination' } });
    expect(code).toBe(0);
    expect(stderr).toContain('can only read: to push, import a token');
    expect((await logIn()).stderr).not.toContain('can only read');
  });

  it('reports that tokens of the environment will no longer be used', async () => {
    const { stderr } = await logIn({ env: { GIT_TOKEN_PERSONAL: makeToken('ghp') } });
    expect(stderr).toContain('GIT_TOKEN_PERSONAL in the environment will not be used');
  });
});

describe('login github --import-token', () => {
  const imported = { clientId: null, importToken: true } as const;
  const noGh = { PATH: '/nonexistent' };
  let token: string;
  beforeEach(() => {
    token = makeToken('gho');
    bench.host.state.tokens.set(token, { login: 'grace', endsAt: null, ofApp: false });
  });

  /** Puts a gh with this script first on the path. */
  async function withGh(script: string): Promise<Record<string, string>> {
    const bin = join(bench.folder, '..', 'bin');
    await mkdir(bin, { recursive: true });
    await writeFile(join(bin, 'gh'), `#!/bin/sh\n${script}\n`);
    await chmod(join(bin, 'gh'), 0o755);
    return { PATH: [bin, process.env.PATH].join(delimiter) };
  }

  it("stores the token of the host's own command line as the destination login", async () => {
    const env = await withGh(
      `[ "$*" = "auth token --hostname ${new URL(bench.host.url).host}" ] && echo ${token}`,
    );
    const { code, stdout } = await logIn({
      command: { ...imported, login: 'github:destination' },
      env,
    });
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^Logged in to \S+ as grace: destination login, kept in the keychain\.\n$/,
    );
    expect(await secretsOf('github:destination')).toEqual({ token, refresh_token: null });
    expect(await bench.store.find('github:destination')).toMatchObject({
      kind: 'token',
      client_id: null,
      expires_at: null,
    });
    expect(await bench.store.find('github:source')).toBeNull();
  });

  it('says what to do when gh has no token, without storing anything', async () => {
    const env = await withGh('echo "no oauth token found" >&2; exit 1');
    const { error } = await logIn({ command: imported, env });
    expect(error).toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringMatching(/no oauth token found.*gh auth login --hostname/),
    });
    expect(await bench.store.list()).toEqual({});
  });

  it('reads one line of stdin where gh is not installed', async () => {
    const { code, stderr } = await logIn({
      command: imported,
      env: noGh,
      stdin: `${token}\nmore\n`,
    });
    expect(code).toBe(0);
    expect(stderr).toContain('gh is not installed');
    expect((await secretsOf('github:source'))?.token).toBe(token);
  });

  it.each(['', '\n', 'two words\n'])('rejects %j as a token', async (stdin) => {
    const { error } = await logIn({ command: imported, env: noGh, stdin });
    expect(error).toMatchObject({ code: 'UNAUTHORIZED', message: 'no token was given' });
  });

  it('rejects a token that the host does not accept, and does not repeat it', async () => {
    const wrong = makeToken('gho');
    const { error, stdout, stderr } = await logIn({ command: imported, env: noGh, stdin: wrong });
    expect(error).toMatchObject({
      code: 'UNAUTHORIZED',
      message: 'the git host rejects the token: import another one',
    });
    expect(`${error?.stack}${stdout}${stderr}`).not.toContain(wrong);
    expect(await bench.store.list()).toEqual({});
  });
});

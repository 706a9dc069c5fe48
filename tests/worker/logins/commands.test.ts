import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { visit } from '../../support/browser.ts';
import { useTemporaryFolder } from '../../support/folders.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { type GitHost, startGitHost } from '../../support/git-host/server.ts';
import { makeToken } from '../../support/git-host/state.ts';
import { runScript, startScript } from '../../support/script.ts';

// The commands as a shell runs them: real child processes, pipes instead of a terminal.

let host: GitHost;
let gateway: Gateway;
const folder = useTemporaryFolder();
let env: Record<string, string>;
beforeEach(async () => {
  [host, gateway] = await Promise.all([startGitHost(), startGateway()]);
  host.state.interval = 1;
  env = {
    GIT_HOST_URL: host.url,
    GATEWAY_BASE_URL: gateway.url,
    GATEWAY_AUTHORIZE_URL: `${gateway.url}/auth`,
    BACKUP_CONFIG_DIR: join(folder, 'config'),
  };
});
afterEach(async () => {
  await Promise.all([host.close(), gateway.close()]);
});

const worker = (args: string[], more: Record<string, string> = {}, stdin?: string) =>
  runScript('worker', {
    args,
    env: { ...env, ...more },
    cwd: folder,
    ...(stdin === undefined ? {} : { stdin }),
  });
const start = (args: string[], more: Record<string, string> = {}) =>
  startScript('worker', { args, env: { ...env, ...more }, cwd: folder });

async function logIn(...more: string[]) {
  const login = start(['login', 'github', '--client-id', 'Iv1.standin', ...more]);
  await login.waitFor(/Waiting/);
  host.approve('ada');
  return login.finished;
}

describe('login github, piped', () => {
  it('writes the result to stdout, everything else to stderr, and no control sequences', async () => {
    const { code, stdout, stderr } = await logIn('--store', 'file');
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: `Logged in to ${new URL(host.url).host} as ada: source login, kept in ${folder}/config/credentials.json.\n`,
      stderr: expect.stringMatching(
        /^Open {3}http:\S+\nEnter {2}WDJB-MJHT {3}\(valid for 15 minutes\)\nWaiting for you to authorize the login\.\nThe app is not installed/,
      ),
    });
    expect(stdout + stderr).not.toContain('\u001b');
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('ends at %s', async (name) => {
    const login = start(['login', 'github', '--client-id', 'Iv1.standin']);
    await login.waitFor(/Waiting/);
    login.child.kill(name);
    const { code, stderr } = await login.finished;
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(new RegExp(`\ninterrupted by ${name}\n$`)),
    });
  });

  it.each([
    ['app', 'create'],
    ['login', 'gateway'],
  ])('so does %s %s', async (...args) => {
    const command = start(args);
    await command.waitFor(/Waiting/);
    command.child.kill('SIGINT');
    const { code, stderr } = await command.finished;
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^Open http.*\nWaiting .*\ninterrupted by SIGINT\n$/),
    });
  });

  it('ends, with the login in the file, if the D-Bus hangs', async () => {
    const socket = join(folder, 'bus');
    const bus = createServer((connection) => connection.resume()).listen(socket);
    host.state.tokens.set('t'.repeat(40), { login: 'grace', endsAt: null, ofApp: false });
    const { code, stdout, stderr } = await worker(
      ['login', 'github', '--import-token'],
      { DBUS_SESSION_BUS_ADDRESS: `unix:path=${socket}`, PATH: '/nonexistent' },
      't'.repeat(40),
    );
    bus.close();
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: expect.stringContaining('credentials.json'),
      stderr: expect.stringContaining('the keychain: it did not answer within 3 seconds'),
    });
  });

  it('exits with 2 without a client id, and with 4 when it was denied', async () => {
    expect(await worker(['login', 'github'])).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^no app client id: set GIT_APP_CLIENT_ID.*\n$/),
    });
    host.state.polls.push({ error: 'access_denied' });
    const denied = await worker(['login', 'github', '--client-id', 'Iv1.standin']);
    expect(denied.code).toBe(4);
    expect(denied.stderr).toMatch(/the login was denied: log in again to retry\n$/);
  });

  it('exits with 1 when the host does not answer', async () => {
    const { code, stderr } = await worker(['login', 'github', '--client-id', 'x'], {
      GIT_HOST_URL: 'http://127.0.0.1:9',
    });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^127\.0\.0\.1:9 does not answer: .+\n$/),
    });
  });
});

it('auth status --check shows a scheduler by its exit code whether there is a login', async () => {
  expect((await worker(['auth', 'status', '--check'])).code).toBe(4);
  await logIn('--store', 'file');
  const { code, stdout, stderr } = await worker(['auth', 'status', '--check', '--json']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(stdout)).toMatchObject({
    logins: [{ login: 'github:source', scheduled: true }],
  });
});

it('login gateway, auth token gateway and logout gateway work one after another', async () => {
  const login = start(['login', 'gateway', '--store', 'file']);
  const [, address = ''] = await login.waitFor(/Open (http:\S+)\n/);
  const callback = new URL(address).searchParams.get('callback_url');
  expect((await visit(`${callback}&code=c`)).status).toBe(200);
  expect((await login.finished).code).toBe(0);
  expect(await worker(['auth', 'token', 'gateway'])).toEqual({
    code: 0,
    stdout: `${gateway.issuedKey}\n`,
    stderr: '',
  });
  expect((await worker(['logout', 'gateway'])).stdout).toBe('Removed the gateway login.\n');
  expect((await worker(['auth', 'token', 'gateway'])).code).toBe(4);
});

it.each([
  [['login', 'gateway', '--paste'], 'pasted\n', 0],
  [['login', 'gateway', '--paste'], '', 4],
])('%j with %j on stdin exits with %d', async (args, stdin, code) => {
  expect((await worker(args, {}, stdin)).code).toBe(code);
});

it.each([
  ['login gateway --paste', ['login', 'gateway', '--paste', '--store', 'file'], 'pasted'],
  [
    'login github --import-token',
    ['login', 'github', '--profile', 'destination', '--import-token', '--store', 'file'],
    't'.repeat(40),
  ],
])('%s ends after its work even if its stdin stays open', async (_what, args, line) => {
  host.state.tokens.set('t'.repeat(40), { login: 'grace', endsAt: null, ofApp: false });
  const login = startScript('worker', {
    args,
    env: { ...env, PATH: join(folder, 'nothing') },
    cwd: folder,
    stdin: null,
  });
  login.child.stdin?.write(`${line}\n`);
  expect((await login.finished).code).toBe(0);
});

it('an invalid credentials.json ends every command with 1 and one line, and is left unchanged', async () => {
  await logIn('--store', 'file');
  const path = join(folder, 'config', 'credentials.json');
  const damaged = (await readFile(path, 'utf8')).slice(0, -20);
  await writeFile(path, damaged);
  for (const args of [
    ['auth', 'status'],
    ['auth', 'status', '--check'],
    ['auth', 'token', 'gateway'],
    ['login', 'github', '--client-id', 'Iv1.standin'],
    ['login', 'gateway'],
    ['logout', 'github'],
    ['logout', 'all'],
  ]) {
    expect(await worker(args)).toEqual({
      code: 1,
      stdout: '',
      stderr: `${path} is not valid: move it away and log in again\n`,
    });
  }
  expect(await readFile(path, 'utf8')).toBe(damaged);
});

it.each([
  ['GIT_HOST_URL', 'http://git.example.org'],
  ['GIT_API_URL', 'http://git.example.org/api'],
  ['GIT_DISCOVERY', 'hunter-22'],
  ['GIT_TOKEN_PERSONAL', 'hunter-22 hunter-22'],
])('an invalid %s ends with 1 and one line without its value', async (name, value) => {
  const { code, stderr } = await worker(['auth', 'status'], { [name]: value });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(new RegExp(`^${name} must .*\n$`)),
  });
  expect(stderr).not.toContain(value);
});

it('a scheduled run reports that the keychain cannot be read, and how to fix it', async () => {
  const token = makeToken('ghp');
  await logIn('--store', 'file');
  const path = join(folder, 'config', 'credentials.json');
  // Like a login created in a desktop session.
  const text = await readFile(path, 'utf8');
  const credentials = JSON.parse(text);
  const { token: _token, refresh_token: _refresh, ...facts } = credentials.logins['github:source'];
  credentials.logins['gateway:default'] = { ...facts, kind: 'key', store: 'keychain' };
  await writeFile(path, JSON.stringify(credentials));
  const { code, stderr } = await worker(['auth', 'token', 'gateway'], {
    GIT_TOKEN_PERSONAL: token,
  });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(
      /^the keychain could not be read \(.*\): log in again with --store file\n$/,
    ),
  });
});

import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { visit } from '../../support/browser.ts';
import { useSharedFolder } from '../../support/folders.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { type GitHost, startGitHost } from '../../support/git-host/server.ts';
import { makeToken } from '../../support/git-host/state.ts';
import { type FinishedScript, runScript, startScript } from '../../support/script.ts';

// Plants secrets in every input of the commands, runs every command both successfully and failing, and
// searches everything that was written: both streams, files, arguments.

let host: GitHost;
let gateway: Gateway;
const folder = useSharedFolder();
let env: Record<string, string>;
/** What each command wrote, by its line. */
const written = new Map<string, string>();

const planted = {
  GIT_TOKEN_PERSONAL: makeToken('ghp'),
  GIT_TOKEN_PRIVATE: makeToken('ghp'),
  imported: makeToken('gho'),
  'app client secret': 'client-secret-0c5d1f77',
  'app private key': 'private-key-8b1d2e33',
  'app webhook secret': 'webhook-secret-6f0a9b21',
  'gateway code': 'gateway-code-1f2e3d4c',
  'pasted code': 'pasted-code-5a6b7c8d',
  'manifest code': 'manifest-code-9e8f7a6b',
};

/** All secrets issued by the host and the gateway, and the planted ones. */
const secrets = (): string[] => {
  const sent = host.state.requests.flatMap(({ body, authorization }) => [
    authorization?.replace(/^Bearer /, ''),
    body.device_code,
    body.refresh_token,
  ]);
  const verifiers = gateway.requestsTo('/auth/keys').map(({ body }) => body?.code_verifier);
  return [
    ...Object.values(planted),
    ...host.state.tokens.keys(),
    ...host.state.refreshTokens.keys(),
    ...host.state.devices.keys(),
    ...sent,
    ...verifiers,
    gateway.issuedKey,
  ].filter((it) => typeof it === 'string');
};

const options = (args: string[]) => ({ args, env, cwd: folder });
const label = (args: string[]) => `${args.join(' ')} #${written.size}`;

async function note(args: string[], finished: Promise<FinishedScript>): Promise<FinishedScript> {
  const result = await finished;
  written.set(label(args), result.stdout + result.stderr);
  return result;
}
const worker = (args: string[], stdin = '') =>
  note(args, runScript('worker', { ...options(args), stdin }));

async function logIn(...more: string[]): Promise<FinishedScript> {
  const args = ['login', 'github', '--store', 'file', ...more];
  const script = startScript('worker', options(args));
  await script.waitFor(/Waiting/);
  host.approve('ada');
  return note(args, script.finished);
}

/** Runs a command that waits on a page, and sends the browser back with a query. */
async function withPage(args: string[], query: string): Promise<FinishedScript> {
  const script = startScript('worker', options(args));
  const [, address = ''] = await script.waitFor(/Open (http:\S+)\n/);
  let back: string;
  if (args[0] === 'app') {
    const page = (await visit(address)).text;
    const port = new URL(address).port;
    const [, state = ''] = /apps\/new\?state=([\w-]+)/.exec(page) ?? [];
    written.set(`${label(args)} page`, page);
    back = `http://127.0.0.1:${port}/callback?state=${state}&${query}`;
  } else back = `${new URL(address).searchParams.get('callback_url')}&${query}`;
  written.set(`${label(args)} answer`, (await visit(back)).text);
  return note(args, script.finished);
}

beforeAll(async () => {
  [host, gateway] = await Promise.all([startGitHost(), startGateway()]);
  host.state.interval = 1;
  host.state.tokens.set(planted.imported, { login: 'grace', endsAt: null, ofApp: false });
  host.state.manifests.set(planted['manifest code'], {
    id: 1,
    slug: 'made',
    client_id: 'Iv1.standin',
    client_secret: planted['app client secret'],
    pem: planted['app private key'],
    webhook_secret: planted['app webhook secret'],
    html_url: `${host.url}/apps/made`,
  });
  // A gh that records its arguments and its environment.
  const bin = join(folder, 'bin');
  await mkdir(bin);
  await writeFile(
    join(bin, 'gh'),
    `#!/bin/sh\n{ echo "$@"; env; } >> '${folder}/gh-call'\necho ${planted.imported}\n`,
  );
  await chmod(join(bin, 'gh'), 0o755);
  env = {
    PATH: [bin, process.env.PATH].join(delimiter),
    GIT_HOST_URL: host.url,
    GATEWAY_BASE_URL: gateway.url,
    GATEWAY_AUTHORIZE_URL: `${gateway.url}/auth`,
    BACKUP_CONFIG_DIR: join(folder, 'config'),
    GIT_TOKEN_PERSONAL: planted.GIT_TOKEN_PERSONAL,
    GIT_TOKEN_PRIVATE: planted.GIT_TOKEN_PRIVATE,
    LOG_LEVEL: 'debug',
  };
});
afterAll(async () => {
  await Promise.all([host.close(), gateway.close()]);
});

/** A host whose refusal repeats what it was sent. */
const echo = { status: 400, echo: true } as const;

describe('no secret is written by', () => {
  it('commands that succeed', async () => {
    expect((await withPage(['app', 'create'], `code=${planted['manifest code']}`)).code).toBe(0);
    expect((await logIn()).code).toBe(0);
    const destination = ['login', 'github', '--profile', 'destination', '--import-token'];
    expect((await worker(destination)).code).toBe(0);
    expect((await withPage(['login', 'gateway'], `code=${planted['gateway code']}`)).code).toBe(0);
    const paste = ['login', 'gateway', '--paste', '--store', 'file'];
    expect((await worker(paste, `${planted['pasted code']}\n`)).code).toBe(0);
    expect((await worker(['auth', 'status'])).code).toBe(0);
    expect((await worker(['auth', 'status', '--check', '--json'])).code).toBe(0);
  });

  it('commands that fail', async () => {
    host.state.apiAnswers.push(echo, echo);
    expect((await logIn()).code).toBe(0);
    host.state.apiAnswers.push(echo);
    expect((await worker(['login', 'github', '--import-token'])).code).toBe(1);
    host.state.tokens.delete(planted.imported);
    expect((await worker(['login', 'github', '--import-token'])).code).toBe(4);
    gateway.script('/auth/keys', { status: 400, body: { error: planted['gateway code'] } });
    expect((await withPage(['login', 'gateway'], `code=${planted['gateway code']}`)).code).toBe(1);
    expect((await withPage(['app', 'create', '--force'], 'code=spent')).code).toBe(1);
    host.state.polls.push({ error: 'access_denied' });
    expect((await worker(['login', 'github'])).code).toBe(4);
    host.state.polls.push({ status: 400, echo: true });
    expect((await worker(['login', 'github'])).code).toBe(1);
    expect((await worker(['login', 'github', '--stroe', planted.imported])).code).toBe(2);
    expect((await worker(['login', 'github', planted.imported])).code).toBe(2);
  });

  it('commands that read damaged files', async () => {
    for (const file of ['credentials.json', 'app.json']) {
      const path = join(folder, 'config', file);
      const whole = await readFile(path, 'utf8');
      await writeFile(path, whole.slice(0, -10));
      expect((await worker(['auth', 'status'])).code).toBe(1);
      expect((await worker(['logout', 'github'])).code).toBe(file === 'app.json' ? 0 : 1);
      await writeFile(path, whole);
    }
  });

  it('commands that remove logins', async () => {
    expect((await worker(['logout', 'gateway'])).code).toBe(0);
    expect((await worker(['logout', 'all'])).code).toBe(0);
  });

  it('any command to its streams and pages', () => {
    expect(written.size).toBeGreaterThan(20);
    const known = secrets();
    expect(known.length).toBeGreaterThan(20);
    for (const [command, text] of written) {
      for (const secret of known) expect(text.includes(secret), command).toBe(false);
    }
  });

  it('any command to a file next to the stores, or to the arguments or environment of another program', async () => {
    const names = await readdir(folder, { recursive: true, withFileTypes: true });
    const files = names
      .filter((entry) => entry.isFile() && !entry.parentPath.endsWith('/bin'))
      .map((entry) => join(entry.parentPath, entry.name));
    // Both stores are empty or removed by now, so every file is searched here.
    expect(files).toContain(join(folder, 'gh-call'));
    for (const file of files) {
      const text = await readFile(file, 'utf8');
      for (const secret of secrets()) expect(text.includes(secret), file).toBe(false);
    }
  });
});

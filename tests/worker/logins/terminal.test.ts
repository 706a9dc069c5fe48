import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useTemporaryFolder } from '../../support/folders.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { type GitHost, startGitHost } from '../../support/git-host/server.ts';
import { makeToken } from '../../support/git-host/state.ts';
import { startOnTerminal } from '../../support/terminal.ts';

// A user at a terminal: the real script on a pseudo-terminal, with a browser and a clipboard that record
// their input.

let host: GitHost;
const folder = useTemporaryFolder();
let env: Record<string, string>;
beforeEach(async () => {
  host = await startGitHost();
  host.state.interval = 1;
  const bin = join(folder, 'bin');
  await mkdir(bin);
  for (const [name, script] of [
    ['xsel', `cat > '${folder}/clipboard'`],
    [
      'browser',
      `echo "$1" > '${folder}/opened.part' && mv '${folder}/opened.part' '${folder}/opened'`,
    ],
  ] as const) {
    await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`);
    await chmod(join(bin, name), 0o755);
  }
  env = {
    PATH: [bin, process.env.PATH].join(delimiter),
    BROWSER: join(bin, 'browser'),
    GIT_HOST_URL: host.url,
    GIT_APP_CLIENT_ID: 'Iv1.standin',
    BACKUP_CONFIG_DIR: join(folder, 'config'),
  };
});
afterEach(async () => {
  await host.close();
});

const start = (...args: string[]) => startOnTerminal('worker', { args, env, cwd: folder });

/** Waits for a file and returns its content. */
async function contentOf(name: string): Promise<string> {
  for (;;) {
    try {
      return await readFile(join(folder, name), 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    await new Promise((done) => setImmediate(done));
  }
}

describe('login github on a terminal', () => {
  it('copies the code and opens the page if the user agrees', async () => {
    const terminal = start('login', 'github');
    await terminal.waitFor(/Copy the code and open the page in your browser\?/);
    terminal.type('\r');
    expect(await contentOf('opened')).toBe(`${host.url}/login/device\n`);
    expect(await contentOf('clipboard')).toBe('WDJB-MJHT');
    host.approve('ada');
    const { code, output } = await terminal.finished;
    expect(code).toBe(0);
    expect(stripVTControlCharacters(output)).toMatch(
      /\nWaiting for you to authorize the login\.\r\nThe login is kept in .*\r\nLogged in to \S+ as ada: source login/,
    );
  });

  it('shows the code in bold, and continues if it is authorized elsewhere in the meantime', async () => {
    const terminal = start('login', 'github');
    await terminal.waitFor(/Copy the code/);
    host.approve('ada');
    const { code, output } = await terminal.finished;
    expect(code).toBe(0);
    expect(output).toContain('\u001b[1mWDJB-MJHT\u001b[22m');
    // The cursor that the question hid is visible again.
    expect(output.lastIndexOf('\u001b[?25h')).toBeGreaterThan(output.lastIndexOf('\u001b[?25l'));
  });

  it('opens nothing if the user declines, and still waits', async () => {
    const terminal = start('login', 'github');
    await terminal.waitFor(/Copy the code/);
    terminal.type('n');
    await terminal.waitFor(/Waiting for you to authorize the login/);
    host.approve('ada');
    expect((await terminal.finished).code).toBe(0);
    await expect(readFile(join(folder, 'opened'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it.each([
    [['login', 'github'], /Copy the code/],
    [['login', 'gateway'], /Open the page/],
    [['app', 'create'], /Open the page/],
  ])('%j ends at Ctrl-C with one line', async (command, question) => {
    const terminal = start(...command);
    await terminal.waitFor(question);
    terminal.type('\u0003');
    const { code, output } = await terminal.finished;
    expect(code).toBe(1);
    expect(stripVTControlCharacters(output)).toMatch(/\r?\ncancelled\r?\n$/);
  });

  it('works without a browser and clipboard', async () => {
    await writeFile(join(folder, 'bin', 'xsel'), '#!/bin/sh\nexit 1\n');
    env.BROWSER = '/nonexistent';
    const terminal = start('login', 'github');
    await terminal.waitFor(/Copy the code/);
    terminal.type('\r');
    await terminal.waitFor(/The code could not be copied/);
    host.approve('ada');
    expect((await terminal.finished).code).toBe(0);
  });
});

it('a token is not shown while it is entered', async () => {
  const token = makeToken('ghp');
  host.state.tokens.set(token, { login: 'grace', endsAt: null, ofApp: false });
  // Hides a gh that this machine may have.
  env.PATH = join(folder, 'bin');
  const terminal = start('login', 'github', '--import-token');
  await terminal.waitFor(/Token for/);
  terminal.type(`${token}\r`);
  const { code, output } = await terminal.finished;
  expect(code).toBe(0);
  expect(stripVTControlCharacters(output)).toContain('as grace');
  expect(stripVTControlCharacters(output)).not.toContain(token.slice(0, 8));
});

describe('login gateway on a terminal', () => {
  let gateway: Gateway;
  beforeEach(async () => {
    gateway = await startGateway();
    env.GATEWAY_BASE_URL = gateway.url;
    env.GATEWAY_AUTHORIZE_URL = `${gateway.url}/auth`;
  });
  afterEach(() => gateway.close());

  it('opens the page, and ends when the browser returns', async () => {
    const terminal = start('login', 'gateway');
    await terminal.waitFor(/Open the page in your browser\?/);
    terminal.type('\r');
    const page = new URL((await contentOf('opened')).trim());
    const shown = await fetch(`${page.searchParams.get('callback_url')}&code=c`);
    expect(await shown.text()).toContain('Logged in to the model gateway');
    const { code, output } = await terminal.finished;
    expect(code).toBe(0);
    expect(stripVTControlCharacters(output)).toContain('key kept in');
    expect(output).not.toContain(gateway.issuedKey);
  });

  it('hides what is pasted with --paste', async () => {
    const terminal = start('login', 'gateway', '--paste');
    await terminal.waitFor(/Address or code/);
    terminal.type('the-pasted-code\r');
    const { code, output } = await terminal.finished;
    expect(code).toBe(0);
    expect(stripVTControlCharacters(output)).not.toContain('the-pasted');
  });
});

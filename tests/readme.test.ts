import { cp, mkdtemp, readdir, readFile, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

// Runs every command of the README, in its order, in a copy of the project, as a newcomer would.

const project = resolve(import.meta.dirname, '..');
/** Commands that go on until they are stopped, with what they print when they are ready. */
const lasting: Record<string, RegExp> = {
  'npm start': /is running/,
  'npm run demo': /demo is running/,
};
const ports = { PORT: '18780', EMBEDDED_DB_PORT: '18781' };

let folder: string;
let checkout: string;
let commands: string[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'readme-'));
  checkout = join(folder, 'backup-observatory');
  const { stdout } = await execa('git', ['ls-files', '-co', '--exclude-standard'], {
    cwd: project,
  });
  for (const file of stdout.split('\n')) {
    await cp(join(project, file), join(checkout, file), { recursive: true });
  }
  await symlink(join(project, 'node_modules'), join(checkout, 'node_modules'));
  const git = (...args: string[]) =>
    execa('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.com', ...args], {
      cwd: checkout,
    });
  await git('init', '--quiet');
  await git('add', '.');
  await git('commit', '--quiet', '--message', 'All of it');

  const readme = await readFile(join(project, 'README.md'), 'utf8');
  commands = [...readme.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block = '']) =>
    block.trim().split('\n'),
  );
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A line of the README with the ports of this test. */
const here = (line: string) => line.replaceAll('8080', ports.PORT);

function start(command: string, env: Record<string, string>, until = lasting[command]) {
  const child = execa('bash', ['-c', `exec ${command}`], {
    cwd: checkout,
    env,
    reject: false,
    detached: true,
  });
  const ready = new Promise<void>((resolve, reject) => {
    let output = '';
    const read = (chunk: Buffer) => {
      output += chunk;
      if (until?.test(output)) resolve();
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.then(() => reject(new Error(`${command} ended:\n${output}`)), reject);
  });
  return {
    ready,
    /** Ctrl-C, which a terminal sends to npm and to what npm started alike. */
    async interrupt() {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGINT');
      await child;
    },
  };
}

describe('the commands of the README', () => {
  it('are installed by what the check run does first', async () => {
    expect(commands[0]).toBe('npm ci');
    expect(await readFile(join(project, '.ci/run'), 'utf8')).toContain('npm ci');
  });

  it('work one after the other beside a running server', { timeout: 120_000 }, async () => {
    expect(commands).toContain('npm start');
    const server = start('npm start', ports);
    await server.ready;
    const rest = commands.filter((line) => line !== 'npm ci' && !(line in lasting)).map(here);
    expect(rest.length).toBeGreaterThan(10);
    const session = await execa('bash', ['-e', '-o', 'pipefail', '-c', rest.join('\n')], {
      cwd: checkout,
      env: ports,
      input: 'a password for ada\n',
      all: true,
      reject: false,
    });
    await server.interrupt();

    expect(session.exitCode, session.all).toBe(0);
    for (const proof of [
      'Run 1 completed: 1 repository, 1 backed up',
      '"full_name":"local/backup-observatory"',
      '"structuredContent":{"data":[{"id":1',
      '"database":{"status":"connected"',
      '"status":"ready"',
      '"data":{"username":"admin"}',
      '"configuration":"ok"',
      'http_request',
      'added ada',
      'removed ada',
      'Nothing that is required is missing.',
    ]) {
      expect(session.all).toContain(proof);
    }
    expect(await stat(join(checkout, 'restored/README.md'))).toBeTruthy();
  });

  it.each([
    ['while it waits', lasting['npm run demo']],
    ['in the middle of a run', /cloning/],
  ])('show the demo, which leaves nothing behind when it is stopped %s', async (_when, until) => {
    expect(commands).toContain('npm run demo');
    const scratch = await mkdtemp(join(folder, 'scratch-'));
    const left = async () =>
      (await readdir(scratch)).filter((name) => name.startsWith('backup-observatory'));
    const free = { PORT: '18782', EMBEDDED_DB_PORT: '18783', TMPDIR: scratch };
    const demo = start('npm run demo', free, until);
    await demo.ready;
    expect(await left()).toHaveLength(1);
    await demo.interrupt();
    expect(await left()).toEqual([]);
  });

  it('name only files that are there', async () => {
    const readme = await readFile(join(project, 'README.md'), 'utf8');
    for (const [, path = ''] of readme.matchAll(/\]\((?!#|https?:)([^)]+)\)/g)) {
      expect(await stat(join(project, dirname(path), path.split('/').at(-1) ?? ''))).toBeTruthy();
    }
  });

  it('jump only to headings that are there', async () => {
    const readme = await readFile(join(project, 'README.md'), 'utf8');
    const anchors = [...readme.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\s-]/g, '')
        .replaceAll(' ', '-'),
    );
    for (const [, anchor] of readme.matchAll(/\]\(#([^)]+)\)/g)) expect(anchors).toContain(anchor);
  });
});

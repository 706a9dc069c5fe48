import { cp, mkdtemp, readdir, readFile, stat, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findFreePort } from '../../scripts/free-port.ts';
import { commandsOf, readingOrder } from '../support/documents.ts';
import { useSharedFolder } from '../support/folders.ts';

// Runs every command of the documents in a copy of the project, like a newcomer: the README first, then the pages in
// the order in which it lists them, each in its own shell.

const project = resolve(import.meta.dirname, '../..');
/** The check run covers this one. The next two run until they are stopped, and are started below. */
const TESTS = 'npm ci && npm test';
const START = 'npm ci && npm start';
const DEMO = 'npm run demo';
/** Neither the default port nor the default folder: the examples must use both variables. */
const ports = { PORT: String(await findFreePort(0)), DATA_DIR: 'elsewhere' };

/** Output that shows that the commands of a document work. */
const proofs: Record<string, string[]> = {
  'README.md': [
    'Run 1 completed: 1 repository, 1 backed up',
    '"full_name":"local/backup-observatory"',
    'Everything required works.',
  ],
  'docs/worker.md': [
    'completed: 1 repository, 0 backed up, 1 unchanged',
    'Dry run: 1 repository, 0 new, 1 to check',
  ],
  'docs/archives.md': ['refs/heads/', 'VALID_UNCOMPROMISED'],
  'docs/restore-drills.md': ['proven: local/backup-observatory, version 1', '1 proven, 0 failed'],
  'docs/off-site.md': ['Restored local/backup-observatory, version 1 of', ': everything is there'],
  'docs/http-api.md': [
    '"full_name":"local/backup-observatory"',
    '"withdrawn":true',
    '"integrity_status":"VALID_UNCOMPROMISED"',
    '"path":"docs/worker.md"',
    'MIT License',
    '"data":{"username":"admin","is_admin":true}',
  ],
  'docs/search.md': ['"source_type":"backup_result"', '"status":"ACTIVE"'],
  'docs/chat-and-reports.md': ['local/hashing-384', '"session_name":"Full disks"', '"report_type"'],
  'docs/mcp.md': ['"structuredContent":{"data":[{"id":', '"database":{"status":"connected"'],
  'docs/operate.md': [
    '"status":"ready"',
    '"configuration":"ok"',
    'http_request',
    'added ada',
    'removed ada',
  ],
  'docs/troubleshooting.md': ['Everything required works.'],
};

const folder = useSharedFolder();
const checkout = join(folder, 'backup-observatory');
let server: ReturnType<typeof start>;

beforeAll(async () => {
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
  server = start('npm start', ports, /is running/);
  await server.ready;
});
afterAll(async () => {
  await server?.interrupt();
});

function start(command: string, env: Record<string, string>, until: RegExp) {
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
      if (until.test(output)) resolve();
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.then(() => reject(new Error(`${command} ended:\n${output}`)), reject);
  });
  return {
    ready,
    /** Ctrl-C, which a terminal sends to npm and its child processes. */
    async interrupt() {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGINT');
      await child;
    },
  };
}

describe('the commands of', () => {
  it.each(readingOrder().filter((document) => commandsOf(document).length > 0))(
    '%s work',
    async (document) => {
      const commands = commandsOf(document).filter((line) => ![TESTS, START, DEMO].includes(line));
      const session = await execa('bash', ['-e', '-o', 'pipefail', '-c', commands.join('\n')], {
        cwd: checkout,
        env: ports,
        input: 'a password for ada\n',
        all: true,
        reject: false,
      });
      expect(session.exitCode, session.all).toBe(0);
      for (const proof of proofs[document] ?? []) expect(session.all).toContain(proof);
    },
  );

  it('README.md restore an archive', async () => {
    expect(await stat(join(checkout, 'restored/README.md'))).toBeTruthy();
  });
});

it('the README starts and tests the project like the check run', async () => {
  const commands = commandsOf('README.md');
  expect(commands.slice(0, 2)).toEqual([START, TESTS]);
  const checkRun = await readFile(join(project, '.ci/run'), 'utf8');
  expect(checkRun).toContain('npm ci');
  expect(checkRun).toContain('npm test');
});

it.each([
  ['while it is waiting', /demo is running/],
  ['during a run', /fetching/],
])('the demo leaves nothing behind when it is stopped %s', async (_when, until) => {
  expect(commandsOf('README.md')).toContain(DEMO);
  const scratch = await mkdtemp(join(folder, 'scratch-'));
  const left = async () =>
    (await readdir(scratch)).filter((name) => name.startsWith('backup-observatory'));
  const demo = start(DEMO, { PORT: '18782', TMPDIR: scratch }, until);
  await demo.ready;
  expect(await left()).toHaveLength(1);
  await demo.interrupt();
  expect(await left()).toEqual([]);
});

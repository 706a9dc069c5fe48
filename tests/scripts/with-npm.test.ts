import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { useTemporaryFolder } from '../support/folders.ts';
import { createRepository } from '../support/git.ts';
import { useDatabase } from '../support/hooks.ts';
import { descendantsOf, ended } from '../support/processes.ts';
import { runScript, scriptEnvironment } from '../support/script.ts';

const LAUNCH = resolve('scripts/launch.mjs');
const folder = useTemporaryFolder();
const database = useDatabase();

beforeEach(async () => {
  const scripts = { start: `node ${LAUNCH} start`, worker: `node ${LAUNCH} worker` };
  await writeFile(join(folder, 'package.json'), JSON.stringify({ scripts }));
});

/** Starts a script with npm in the test's folder, in a process group of its own, and waits for an output. */
async function startWithNpm(args: string[], env: Record<string, string>, pattern: RegExp) {
  const node = join(process.execPath, '..');
  const own = scriptEnvironment(folder);
  const child: ChildProcess = spawn('npm', args, {
    cwd: folder,
    env: { ...own, PATH: `${node}:${own.PATH}`, DATA_DIR: join(folder, 'data'), ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  await new Promise<void>((found, fail) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        if (pattern.test(output)) found();
      });
    }
    child.once('close', () => fail(new Error(output)));
  });
  const pid = child.pid ?? 0;
  const all = await descendantsOf(pid);
  onTestFinished(() => {
    for (const one of all) {
      try {
        process.kill(one.pid, 'SIGKILL');
      } catch {
        // It has ended, as it should.
      }
    }
  });
  const shell = all.find(({ command }) => command.includes('sh -c'))?.pid ?? 0;
  return { npm: pid, shell, all: [pid, ...all.map((one) => one.pid)], output: () => output };
}

it('a second server names the process that holds the folder, which ends with its npm', async () => {
  const { npm, all } = await startWithNpm(['start'], { PORT: '0' }, /Try a request/);
  const second = await runScript('start', {
    cwd: folder,
    env: { DATA_DIR: join(folder, 'data'), PORT: '0' },
  });
  expect(second.code).toBe(1);
  const [, pid] =
    /^DATA_DIR is in use by another process: process (\d+) \(npm run start\), since 20\S+Z\. Stop it \(kill \1\), or set another DATA_DIR$/m.exec(
      second.stderr,
    ) ?? [];
  expect(all).toContain(Number(pid));
  process.kill(npm, 'SIGTERM');
  await ended(all);
});

// npm ignores a SIGINT that is sent to it alone: Ctrl-C reaches every process.
it.each([
  ['npm', 'SIGTERM'],
  ['npm', 'SIGHUP'],
  ['npm', 'SIGKILL'],
  ['shell', 'SIGKILL'],
] as const)('a worker that repeats its run ends with its %s on %s', async (who, signal) => {
  const app = await createRepository(join(folder, 'app'));
  await app.commit({ 'a.txt': 'a' });
  await mkdir(join(folder, 'archives'));
  const env = {
    DATABASE_URL: database.url,
    BACKUP_ARCHIVE_PATH: join(folder, 'archives'),
    DRILL_BUDGET_MINUTES: '0',
  };
  const args = ['run', 'worker', '--', 'run', '--source', app.path, '--every', '60'];
  const started = await startWithNpm(args, env, /Run \d+ completed/);
  process.kill(started[who], signal);
  await ended(started.all);
});

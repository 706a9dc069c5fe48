import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createPostgres, type TestDatabase } from '../../support/databases.ts';
import { git } from '../../support/git.ts';
import { createHostedWorker, type HostedWorker, install } from '../../support/hosted-worker.ts';
import { runScript } from '../../support/script.ts';
import { rowsOf } from '../../support/worker.ts';
import { times } from '../size.ts';

/** The number of intact repositories, in addition to ten that are broken in ten ways. */
const SOUND = times(30, 190);
const ALL = SOUND + 10;

let database: TestDatabase;
let bench: HostedWorker;
let hosted: string;
beforeAll(async () => {
  database = await createPostgres();
  bench = await createHostedWorker();
  hosted = join(bench.folder, 'host/team');
  await bench.logIn();
});
afterAll(async () => {
  await bench.close();
  await database.close();
});

/** Runs the worker in a separate process. `peak`: its peak memory in bytes. */
async function runProcess() {
  const peak = join(bench.folder, 'peak');
  const source = `process.on('exit', () => require('node:fs').writeFileSync(${JSON.stringify(peak)}, String(process.resourceUsage().maxRSS)))`;
  await writeFile(join(bench.folder, 'measure.cjs'), source);
  const ended = await runScript('worker', {
    args: ['run'],
    cwd: bench.folder,
    env: {
      ...bench.env,
      DATABASE_URL: database.url,
      BACKUP_ARCHIVE_PATH: bench.archives,
      DRILL_BUDGET_MINUTES: '0',
      NODE_OPTIONS: `--require ${join(bench.folder, 'measure.cjs')}`,
    },
  });
  return { ...ended, peak: Number(await readFile(peak, 'utf8')) * 1_024 };
}

/** Adds a copy of another repository to the host. */
async function copy(fullName: string): Promise<string> {
  const [owner = '', name = ''] = fullName.split('/');
  const path = join(bench.folder, 'host', owner, `${name}.git`);
  await cp(join(hosted, 'lost.git'), path, { recursive: true });
  bench.host.addRepository({ fullName, private: true });
  install(bench.host, owner, fullName);
  return path;
}

it(`a run handles ${ALL} repositories, ten of them broken in ten ways, within 300 MB`, {
  timeout: 300_000,
}, async () => {
  const { state } = bench.host;
  await bench.add({ fullName: 'team/lost', private: true });
  expect((await runProcess()).code).toBe(0);

  // Nine more, and the one that is no longer listed.
  for (let number = 0; number < SOUND; number++) await copy(`team/sound-${number}`);
  for (const installation of state.installations) {
    installation.repositories = installation.repositories.filter((name) => name !== 'team/lost');
  }
  await bench.add({ fullName: 'team/empty' }, { commits: 0 });
  await copy('team/disabled');
  bench.host.addRepository({ fullName: 'team/disabled', disabled: true });
  await copy('team/blocked');
  bench.http.answers.set('team/blocked', (c) => {
    bench.host.addRepository({ fullName: 'team/blocked', disabled: true });
    return c.text('blocked', 403);
  });
  await copy('team/gone');
  bench.http.answers.set('team/gone', (c) => {
    state.repositories.delete('team/gone');
    return c.text('gone', 404);
  });
  const corrupt = await copy('team/corrupt');
  const blob = await git(corrupt, 'rev-parse', 'HEAD:a.txt');
  await rm(join(corrupt, 'objects', blob.slice(0, 2), blob.slice(2)));
  await copy('team/unwell');
  bench.http.answers.set('team/unwell', (c) => c.text('oops', 500));
  await copy('team/moved');
  bench.http.answers.set('team/moved', (c) => c.redirect('http://127.0.0.1:9/team/moved', 301));
  const full = await bench.add({ fullName: 'team/shallow' }, { commits: 2 });
  await rm(join(hosted, 'shallow.git'), { recursive: true });
  await mkdir(hosted, { recursive: true });
  const cut = ['clone', '--quiet', '--bare', '--depth=1', `file://${full.path}`];
  await git(hosted, ...cut, 'shallow.git');
  bench.host.addRepository({ fullName: '-team/../x' });
  install(bench.host, 'team', '-team/../x');

  const { code, stdout, peak } = await runProcess();
  expect(code).toBe(1);
  expect(stdout).toContain(
    ` completed: ${ALL} repositories, ${SOUND} backed up, 0 unchanged, 1 empty, 9 failed, in `,
  );
  const results = await rowsOf<{ repo_full_name: string; status: string; error_message: string }>(
    database.db,
    `SELECT repo_full_name, status, error_message FROM backup_results
     WHERE run_id = (SELECT max(id) FROM backup_runs) ORDER BY repo_full_name`,
  );
  const completed = results.filter(({ status }) => status === 'completed');
  expect(completed.map((result) => result.repo_full_name)).toEqual(
    Array.from({ length: SOUND }, (_, number) => `team/sound-${number}`).sort(),
  );
  const others = results.filter(({ status }) => status !== 'completed');
  const message = (pattern: RegExp) => expect.stringMatching(pattern);
  expect(
    Object.fromEntries(others.map((it) => [it.repo_full_name, [it.status, it.error_message]])),
  ).toEqual({
    '-team/../x': ['failed', message(/its name on the git host is not valid/)],
    'team/blocked': ['failed', message(/has disabled this repository \(451\); git said/)],
    'team/corrupt': ['failed', message(/./)],
    'team/disabled': ['failed', message(/has disabled this repository \(451\)$/)],
    'team/empty': ['empty', ''],
    'team/gone': ['failed', message(/^access lost: the git host answers 404/)],
    'team/lost': ['failed', message(/^access lost: the repository exists, but discovery/)],
    'team/moved': ['failed', message(/301/)],
    'team/shallow': ['failed', message(/is shallow, so its history is incomplete/)],
    'team/unwell': ['failed', message(/500/)],
  });
  expect((await readdir(bench.archives)).filter((name) => name.endsWith('.bundle'))).toHaveLength(
    SOUND + 1,
  );
  expect(peak).toBeLessThan(300e6);
});

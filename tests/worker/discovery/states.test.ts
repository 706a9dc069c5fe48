import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { git } from '../../support/git.ts';
import { useDatabase } from '../../support/hooks.ts';
import { createHostedWorker, type HostedWorker, install } from '../../support/hosted-worker.ts';
import { insertResult, insertRun } from '../../support/records.ts';
import { lastResults, rowsOf } from '../../support/worker.ts';

const database = useDatabase();
let bench: HostedWorker;
beforeEach(async () => {
  bench = await createHostedWorker();
  await database.db.query({
    text: 'TRUNCATE backup_runs, worker_repo_state, backup_run_requests, anomalies, coverage CASCADE',
  });
  await bench.add({ fullName: 'team/sound' });
  await bench.logIn();
});
afterEach(() => bench.close());

const run = () => bench.run({ databaseUrl: database.url });
const results = () => lastResults(database.db);
const resultOf = async (name: string) =>
  (await results()).find((result) => result.repo_full_name === name);
const logsOf = async (name: string) =>
  (
    await rowsOf<{ message: string }>(
      database.db,
      `SELECT message FROM execution_logs WHERE repository = '${name}'
       AND run_id = (SELECT max(id) FROM backup_runs) ORDER BY id`,
    )
  ).map(({ message }) => message);
const planned = () => rowsOf(database.db, 'SELECT name, plan FROM coverage ORDER BY name');
const unlist = (name: string) => {
  for (const installation of bench.host.state.installations) {
    installation.repositories = installation.repositories.filter((it) => it !== name);
  }
};

it('archived repositories and forks are backed up, and logged as such', async () => {
  await bench.add({ fullName: 'team/old', archived: true });
  await bench.add({ fullName: 'team/copy', fork: true });
  expect((await run()).code).toBe(0);
  expect(await resultOf('team/old')).toMatchObject({ status: 'completed', error_message: '' });
  expect(await logsOf('team/old')).toContain('archived on the git host: read-only there');
  expect(await resultOf('team/copy')).toMatchObject({ status: 'completed', error_message: '' });
  expect(await logsOf('team/copy')).toContain('a fork');
});

it('a renamed repository is backed up under its new name, and its previous archive is kept', async () => {
  await run();
  const { state } = bench.host;
  state.renamed.set('team/sound', 'team/noise');
  state.repositories.delete('team/sound');
  unlist('team/sound');
  await git(bench.folder, '-C', 'host/team', 'init', '--quiet', '--bare', 'ignored.git');
  const { rename } = await import('node:fs/promises');
  await rename(`${bench.folder}/host/team/sound.git`, `${bench.folder}/host/team/noise.git`);
  bench.host.addRepository({ fullName: 'team/noise' });
  install(bench.host, 'team', 'team/noise');

  expect((await run()).code).toBe(0);
  expect(await results()).toMatchObject([{ repo_full_name: 'team/noise', status: 'completed' }]);
  expect(await logsOf('team/sound')).toEqual([
    expect.stringMatching(
      /^the repository was renamed to team\/noise and is backed up under that name;.*is kept/,
    ),
  ]);
});

it('a run claims requests for all and for found repositories, and leaves those for other tracked ones', async () => {
  const earlier = await insertRun(database.db, { status: 'completed' });
  await insertResult(database.db, earlier, 'local/Main', { status: 'completed' });
  await database.db.query({
    text: `INSERT INTO backup_run_requests (target_repo)
      VALUES (NULL), ('team/sound'), ('local/main'), ('team/never-seen')`,
  });
  await run();
  expect(
    await rowsOf(database.db, 'SELECT target_repo, status FROM backup_run_requests ORDER BY id'),
  ).toEqual([
    { target_repo: null, status: 'completed' },
    { target_repo: 'team/sound', status: 'completed' },
    { target_repo: 'local/main', status: 'pending' },
    { target_repo: 'team/never-seen', status: 'failed' },
  ]);
});

it('a request for a repository that is no longer on the host fails', async () => {
  await run();
  bench.host.state.repositories.delete('team/sound');
  unlist('team/sound');
  await bench.add({ fullName: 'team/other' });
  await database.db.query({
    text: `INSERT INTO backup_run_requests (target_repo) VALUES ('team/sound')`,
  });
  await run();
  const requests = 'SELECT target_repo, status FROM backup_run_requests';
  expect(await rowsOf(database.db, requests)).toEqual([
    { target_repo: 'team/sound', status: 'failed' },
  ]);
});

it('a repository without refs is reported as empty', async () => {
  await bench.add({ fullName: 'team/new' }, { commits: 0 });
  expect((await run()).code).toBe(0);
  expect(await resultOf('team/new')).toMatchObject({ status: 'empty' });
});

it.each([
  ['in its list', true],
  ['only when asked', false],
])('a repository reported as disabled %s fails with that reason', async (_where, inList) => {
  await bench.add({ fullName: 'team/closed', disabled: inList });
  bench.http.answers.set('team/closed', (c) => c.text('blocked', 403));
  if (!inList) {
    // Listed as usual, but blocked by the time git fetches it.
    bench.http.answers.set('team/closed', (c) => {
      bench.host.addRepository({ fullName: 'team/closed', disabled: true });
      return c.text('blocked', 403);
    });
  }
  expect((await run()).code).toBe(1);
  expect(await resultOf('team/closed')).toMatchObject({
    status: 'failed',
    error_message: expect.stringMatching(/^the git host has disabled this repository \(451\)/),
  });
  expect(await resultOf('team/sound')).toMatchObject({ status: 'completed' });
});

it("access lost between listing and cloning is reported with git's message", async () => {
  await bench.add({ fullName: 'team/gone' });
  bench.http.answers.set('team/gone', (c) => {
    bench.host.state.repositories.delete('team/gone');
    return c.text('no', 404);
  });
  expect((await run()).code).toBe(1);
  expect(await resultOf('team/gone')).toMatchObject({
    status: 'failed',
    error_message: expect.stringMatching(
      /^access lost: the git host answers 404 .*; git said: .*not found/,
    ),
  });
});

it.each([
  ['deleted', 404, /^access lost: the git host answers 404 .*its archive team__b\.bundle is kept/],
  ['unlisted', 200, /^access lost: the repository exists, but discovery no longer finds it/],
  ['disabled', 451, /^the git host has disabled this repository \(451\); its archive/],
] as const)(
  'a repository that is no longer listed gets a failed result: %s',
  async (_what, status, message) => {
    await bench.add({ fullName: 'team/b' });
    await run();
    unlist('team/b');
    if (status === 404) bench.host.state.repositories.delete('team/b');
    if (status === 451) bench.host.addRepository({ fullName: 'team/b', disabled: true });
    expect((await run()).code).toBe(1);
    expect(await results()).toEqual([
      { repo_full_name: 'team/b', status: 'failed', error_message: expect.stringMatching(message) },
    ]);
    const faults = 'SELECT fault FROM backup_results ORDER BY id DESC LIMIT 1';
    expect(await rowsOf(database.db, faults)).toEqual([{ fault: 'missing' }]);
    const totals = 'SELECT total_repos, failed, skipped FROM backup_runs ORDER BY id DESC LIMIT 1';
    expect(await rowsOf(database.db, totals)).toEqual([{ total_repos: 2, failed: 1, skipped: 1 }]);
  },
);

it('a run reports once that more than a fifth of all repositories are missing', async () => {
  const names = ['a', 'b', 'c', 'd'].map((name) => `team/${name}`);
  for (const fullName of names) await bench.add({ fullName });
  await run();
  const seen = () =>
    rowsOf(
      database.db,
      'SELECT repo_full_name, run_id, kind, change_count, before, after FROM anomalies ORDER BY id',
    );
  const remove = (name: string) => {
    unlist(name);
    bench.host.state.repositories.delete(name);
  };
  // Exactly a fifth is not enough.
  remove('team/a');
  await run();
  expect(await seen()).toEqual([]);
  // One of four: the one that was lost before does not count.
  remove('team/b');
  await run();
  const [last] = await rowsOf<{ id: number }>(database.db, 'SELECT max(id) AS id FROM backup_runs');
  const missing = [
    {
      ...{ repo_full_name: null, run_id: last?.id, kind: 'missing', change_count: 1 },
      ...{ before: { 'team/b': 'listed' }, after: {} },
    },
  ];
  expect(await seen()).toEqual(missing);
  await run();
  expect(await seen()).toEqual(missing);
});

it('a run records what the login sees, and why some of it is not backed up', async () => {
  await bench.add({ fullName: 'team/closed', disabled: true });
  await bench.add({ fullName: 'team/left' });
  await bench.add({ fullName: 'team/gone' });
  await bench.run({ databaseUrl: database.url });
  unlist('team/gone');
  bench.host.state.repositories.delete('team/gone');
  const env = { BACKUP_EXCLUDE: 'left', ...bench.env };
  await bench.run({ databaseUrl: database.url, env });
  const seen = () =>
    rowsOf(
      database.db,
      `SELECT name, plan, reason, run_id = (SELECT max(id) FROM backup_runs) AS "isNew",
         facts->'pushed' AS pushed FROM coverage ORDER BY name`,
    );
  const isNew = true;
  const pushed = false;
  const recorded = [
    {
      name: 'team/closed',
      plan: 'disabled',
      reason: expect.stringContaining('451'),
      isNew,
      pushed,
    },
    { name: 'team/gone', plan: 'lost', reason: expect.stringContaining('404'), isNew, pushed },
    {
      name: 'team/left',
      plan: 'excluded',
      reason: 'excluded by BACKUP_EXCLUDE left',
      isNew,
      pushed,
    },
    { name: 'team/sound', plan: 'taken', reason: '', isNew, pushed },
  ];
  expect(await seen()).toEqual(recorded);
  // What is given on the command line says nothing about what the login sees.
  const source = `${bench.folder}/work/team/sound`;
  await bench.run({ databaseUrl: database.url, args: ['run', '--source', source] });
  expect(await seen()).toEqual(recorded.map((one) => ({ ...one, isNew: false })));
});

it('archives of sources from the command line do not count as missing on the host', async () => {
  const work = `${bench.folder}/work/team/sound`;
  const call = { databaseUrl: database.url, args: ['run', '--source', work] };
  expect((await bench.run(call)).code).toBe(0);
  expect((await run()).code).toBe(0);
  expect(await results()).toMatchObject([{ repo_full_name: 'team/sound' }]);
});

it.each([
  '../../evil/x',
  'team/..',
  'team/a/b',
  '-team/x',
  'team/x\u001b[31m',
  'team/x y',
  `team/${'x'.repeat(256)}`,
])('the name %j from the host is not accepted', async (fullName) => {
  bench.host.addRepository({ fullName });
  install(bench.host, 'team', fullName);
  expect((await run()).code).toBe(1);
  const bad = (await results()).filter(({ status }) => status === 'failed');
  expect(bad).toEqual([
    {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the characters that must be gone
      repo_full_name: expect.not.stringMatching(/[\u0000-\u001f]/),
      status: 'failed',
      error_message: 'its name on the git host is not valid',
    },
  ]);
  expect(await planned()).toEqual(
    expect.arrayContaining([{ name: bad[0]?.repo_full_name, plan: 'invalid_name' }]),
  );
  expect(bench.http.requests.every(({ path }) => path.startsWith('/team/sound.git/'))).toBe(true);
});

it('an account that suspended the app is reported, and the run continues with the others', async () => {
  bench.host.state.installations.push({
    ...{ id: 9, account: 'quiet', accountType: 'User', selection: 'all', repositories: [] },
    suspended: true,
  });
  const { code, stderr } = await run();
  expect(code).toBe(0);
  expect(stderr).toContain('warn: the app is suspended on quiet: its repositories cannot be read');
  expect(await planned()).toEqual([
    { name: 'quiet/*', plan: 'suspended' },
    { name: 'team/sound', plan: 'taken' },
  ]);
});

it('only a configured account without the app is reported, and only once', async () => {
  const env = { ORG_ACCOUNT: 'Team', PROJECT_ACCOUNT: 'elsewhere' };
  const { code, stderr } = await bench.run({ databaseUrl: database.url, env });
  expect(code).toBe(0);
  expect(stderr.match(/warn: the app is not installed on .*/g)).toEqual([
    'warn: the app is not installed on elsewhere: its repositories cannot be read',
  ]);
  const recorded = [
    { name: 'elsewhere/*', plan: 'not_installed' },
    { name: 'team/sound', plan: 'taken' },
  ];
  expect(await planned()).toEqual(recorded);
  const twice = { ORG_ACCOUNT: 'elsewhere', PROJECT_ACCOUNT: 'Elsewhere' };
  const again = await bench.run({ databaseUrl: database.url, env: twice });
  expect(again.stderr.match(/warn: the app is not installed on /g)).toHaveLength(1);
  expect(await planned()).toEqual(recorded);
});

it('an account that shares only selected repositories with the app is reported', async () => {
  await bench.add({ fullName: 'other/all' });
  for (const installation of bench.host.state.installations) {
    installation.selection = installation.account === 'team' ? 'selected' : 'all';
  }
  const { stderr } = await run();
  expect(stderr.match(/the app can see only .*/g)).toEqual([
    'the app can see only the selected repositories of team',
  ]);
});

it('a run records that it leaves out the repository that archives are pushed to', async () => {
  await bench.add({ fullName: 'team/backups', private: true });
  await bench.logIn('token', 'github:destination');
  const env = { BACKUP_REPO_PATH: `${bench.host.url}/team/backups.git` };
  expect((await bench.run({ databaseUrl: database.url, env })).code).toBe(0);
  expect(await planned()).toEqual([
    { name: 'team/backups', plan: 'destination' },
    { name: 'team/sound', plan: 'taken' },
  ]);
});

it('a shallow repository over http is not mistaken for a whole one, at first or later', async () => {
  const work = await bench.add({ fullName: 'team/cut' }, { commits: 3 });
  const hosted = join(bench.folder, 'host/team/cut.git');
  const whole = join(bench.folder, 'whole.git');
  await git(bench.folder, 'clone', '--quiet', '--mirror', hosted, whole);
  const cut = async () => {
    await rm(hosted, { recursive: true });
    await git(bench.folder, 'clone', '--quiet', '--bare', '--depth=1', `file://${whole}`, hosted);
  };
  await cut();
  expect((await run()).code).toBe(1);
  expect((await resultOf('team/cut'))?.error_message).toMatch(/is shallow/);
  await rm(hosted, { recursive: true });
  await git(bench.folder, 'clone', '--quiet', '--mirror', whole, hosted);
  expect((await run()).code).toBe(0);

  // A new commit that the shallow repository has, without its ancestors, and the archive does not.
  await work.commit({ 'b.txt': 'b' });
  await work.commit({ 'b.txt': 'c' });
  await work.git('push', '--quiet', whole, 'main');
  await cut();
  expect((await run()).code).toBe(1);
  expect((await resultOf('team/cut'))?.status).toBe('failed');
  const listed = await git(bench.archives, 'bundle', 'list-heads', 'team__cut.bundle');
  expect(listed).not.toContain(await work.git('rev-parse', 'main'));
});

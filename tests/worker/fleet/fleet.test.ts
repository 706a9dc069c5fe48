import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Fleet, openFleet } from '../../support/fleet.ts';
import { git } from '../../support/git.ts';
import { startGitServer } from '../../support/git-server.ts';
import { useDatabase, useHostedWorker } from '../../support/hooks.ts';
import { runScript } from '../../support/script.ts';
import { callWorker, rowsOf } from '../../support/worker.ts';

// Workers in processes of their own, each with a DATA_DIR of its own like a machine.

const database = useDatabase();
const bench = useHostedWorker(database);
const names = ['team/a', 'team/b', 'team/c', 'team/d'];
let fleet: Fleet;

beforeEach(async () => {
  await bench.logIn();
  for (const fullName of names) await bench.add({ fullName });
  fleet = openFleet(database, bench);
});

const once = names.map((repository) => ({ repository, status: 'completed', results: 1 }));
const completed = {
  ...{ status: 'completed', error_message: '', total_repos: 4, successful: 4, failed: 0 },
  ...{ exclusive_key: null, progress: null },
};
const left = () =>
  rowsOf(
    database.db,
    'SELECT (SELECT count(*) FROM run_jobs)::int AS jobs, (SELECT count(*) FROM run_members)::int AS members',
  );
/** Two machines, each in the middle of a repository. */
async function startTwo() {
  const [a, b] = [fleet.hold('team/a'), fleet.hold('team/b')];
  const first = fleet.start('one');
  await a.came;
  const second = fleet.start('two');
  await b.came;
  const release = () => {
    a.release();
    b.release();
  };
  return { first, second, release };
}

describe('two workers', () => {
  it('share a run: each repository once, and the same figures and exit code for both', async () => {
    const { first, second, release } = await startTwo();
    release();
    const ended = await Promise.all([first.finished, second.finished]);
    for (const { code, stdout, stderr } of ended) {
      expect(code, stderr).toBe(0);
      expect(stdout).toMatch(/^Run \d+ completed: 4 repositories, 4 backed up, 0 unchanged, 0 f/);
    }
    expect(await fleet.runs()).toEqual([completed]);
    expect(await fleet.results()).toEqual(once);
    const archives = await readdir(bench.archives);
    expect(archives.filter((name) => name.endsWith('.bundle'))).toHaveLength(4);
    expect(archives.filter((name) => name.startsWith('.'))).toEqual([]);
    expect(await left()).toEqual([{ jobs: 0, members: 0 }]);
    const snapshots = 'SELECT archive_count FROM analytics_snapshots';
    expect((await rowsOf(database.db, snapshots)).at(-1)).toEqual({ archive_count: 4 });
  });

  it('show together what they are at', async () => {
    const { first, second, release } = await startTwo();
    // Each writes at most once a second; both have begun.
    const progress = () => rowsOf(database.db, 'SELECT progress FROM backup_runs');
    await expect.poll(progress, { timeout: 20_000 }).toEqual([
      {
        progress: {
          bytes: 0,
          active: expect.toSatisfy(
            (active: { repository: string }[]) =>
              active
                .map(({ repository }) => repository)
                .sort()
                .join() === 'team/a,team/b',
          ),
        },
      },
    ]);
    release();
    await Promise.all([first.finished, second.finished]);
  });

  it('push to one destination', async () => {
    const target = join(bench.folder, 'target.git');
    await git(bench.folder, 'init', '--quiet', '--bare', target);
    const env = { BACKUP_REPO_PATH: target };
    const [a, b] = [fleet.hold('team/a'), fleet.hold('team/b')];
    const first = fleet.start('one', [], env);
    await a.came;
    const second = fleet.start('two', [], env);
    await b.came;
    a.release();
    b.release();
    expect((await first.finished).code).toBe(0);
    expect((await second.finished).code).toBe(0);
    const pushed = (await git(target, 'ls-tree', '--name-only', 'HEAD')).split('\n');
    expect(pushed).toEqual(names.map((name) => `${name.replace('/', '__')}.bundle`));
  });
});

describe('a worker that is killed', () => {
  it.each([
    ['starter', 'team/a'],
    ['joiner', 'team/b'],
  ] as const)('as the %s leaves its repository to the other, which ends the run', async (which) => {
    const { first, second, release } = await startTwo();
    const [victim, other] = which === 'starter' ? [first, second] : [second, first];
    victim.child.kill('SIGKILL');
    await victim.finished;
    await fleet.loseLease(which);
    release();
    const { code, stdout, stderr } = await other.finished;
    expect({ code, stdout }, stderr).toEqual({
      code: 0,
      stdout: expect.stringContaining('4 backed up'),
    });
    expect(await fleet.runs()).toEqual([completed]);
    expect(await fleet.results()).toEqual(once);
    expect(await left()).toEqual([{ jobs: 0, members: 0 }]);
  });

  it('keeps its repository from the others until its lease ends', async () => {
    const { first, second, release } = await startTwo();
    second.child.kill('SIGKILL');
    await second.finished;
    release();
    await first.waitFor(/team\/d: archived/);
    const held = `SELECT repository, (lease_until > now())::text AS held FROM run_jobs
      WHERE state = 'open' AND kind = 'repository'`;
    await expect
      .poll(() => rowsOf(database.db, held), { timeout: 20_000 })
      .toEqual([{ repository: 'team/b', held: 'true' }]);
    await fleet.loseLease('joiner');
    expect((await first.finished).code).toBe(0);
    expect(await fleet.results()).toEqual(once);
  });

  it('goes on at once when it is started again on its machine', async () => {
    const { first, second, release } = await startTwo();
    second.child.kill('SIGKILL');
    await second.finished;
    release();
    const again = fleet.start('two');
    expect((await again.finished).code).toBe(0);
    expect((await first.finished).code).toBe(0);
    expect(await fleet.runs()).toEqual([completed]);
    expect(await fleet.results()).toEqual(once);
  });
});

it('leaves the run to the others at Ctrl-C', async () => {
  const { first, second, release } = await startTwo();
  first.child.kill('SIGINT');
  const { code, stdout } = await first.finished;
  expect({ code, stdout }).toEqual({
    code: 1,
    stdout: expect.stringMatching(/^Left run \d+ \(interrupted by SIGINT\): 0 backed up, /),
  });
  release();
  expect((await second.finished).code).toBe(0);
  expect(await fleet.runs()).toEqual([completed]);
  expect(await fleet.results()).toEqual(once);
});

it('ends the run at Ctrl-C if it is the only one', async () => {
  const held = fleet.hold('team/a');
  const worker = fleet.start('one');
  await held.came;
  worker.child.kill('SIGINT');
  const { code, stdout } = await worker.finished;
  held.release();
  expect({ code, stdout }).toEqual({
    code: 1,
    stdout: expect.stringContaining('failed (interrupted by SIGINT)'),
  });
  expect(await fleet.runs()).toMatchObject([
    { status: 'failed', error_message: 'interrupted by SIGINT', exclusive_key: null },
  ]);
  expect(await left()).toEqual([{ jobs: 0, members: 0 }]);
});

describe('is refused', () => {
  it('where the archive folder is another one, and changes nothing there', async () => {
    const held = fleet.hold('team/a');
    const first = fleet.start('one');
    await held.came;
    const other = join(bench.folder, 'not-mounted');
    const { code, stderr } = await fleet.start('two', [], { BACKUP_ARCHIVE_PATH: other }).finished;
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /^cannot join run \d+: \S+not-mounted is not its archive folder/,
      ),
    });
    await expect(access(other)).rejects.toThrow('ENOENT');
    held.release();
    expect((await first.finished).code).toBe(0);
    expect(await fleet.results()).toEqual(once);
  });

  it('alone while others share a run', async () => {
    const held = fleet.hold('team/a');
    const first = fleet.start('one');
    await held.came;
    const plain = await callWorker({
      ...{ databaseUrl: database.url, archives: join(bench.folder, 'plain') },
      ...{ args: ['run'], env: bench.env },
    });
    expect(plain).toMatchObject({
      code: 75,
      stdout: expect.stringMatching(/^No run: run \d+ is a/),
    });
    held.release();
    expect((await first.finished).code).toBe(0);
  });

  it('while a worker runs alone', async () => {
    const held = fleet.hold('team/a');
    const alone = bench.run({ databaseUrl: database.url });
    await held.came;
    const { code, stdout } = await fleet.start('two').finished;
    expect({ code, stdout }).toEqual({
      code: 75,
      stdout: expect.stringContaining('it was started without --join'),
    });
    held.release();
    expect((await alone).code).toBe(0);
  });

  it.each([[['--only', 'team/a']], [['--exclude', 'x']], [['--source', '.']]])(
    'with %j, which the starter has decided',
    async (args) => {
      const held = fleet.hold('team/a');
      const first = fleet.start('one');
      await held.came;
      const { code, stdout } = await fleet.start('two', args).finished;
      expect({ code, stdout }).toEqual({
        code: 75,
        stdout: expect.stringContaining('join it without --source, --only and --exclude'),
      });
      held.release();
      expect((await first.finished).code).toBe(0);
    },
  );

  it('without a database', async () => {
    const nowhere = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' };
    const { code, stderr } = await fleet.start('one', [], nowhere).finished;
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('the database is away, and --join needs it'),
    });
  });
});

it('reports what only the worker that was killed could read', async () => {
  const server = await startGitServer();
  const held = server.holdFetch();
  server.serve('own/app.git', join(bench.folder, 'work', 'team', 'a'));
  const first = fleet.start('one', ['--source', `${server.url}/own/app.git`]);
  await held.came;
  const second = fleet.start('two');
  await second.waitFor(/takes part in run/);
  first.child.kill('SIGKILL');
  await first.finished;
  await fleet.loseLease('starter');
  const { code, stdout } = await second.finished;
  held.release();
  await server.close();
  expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining('1 failed') });
  expect(await rowsOf(database.db, 'SELECT status, error_message FROM backup_results')).toEqual([
    { status: 'failed', error_message: expect.stringContaining('that one is gone') },
  ]);
});

it('keeps no token in the database', async () => {
  const token = await bench.logIn();
  const held = fleet.hold('team/a');
  const first = fleet.start('one');
  await held.came;
  const rows = JSON.stringify(await rowsOf(database.db, 'SELECT * FROM run_jobs'));
  expect(rows).toContain('team/d');
  expect(rows).not.toContain(token);
  held.release();
  await first.finished;
});

it('starts a run that others may join with what a run without --join has left', async () => {
  const env = {
    ...{ ...bench.env, DATABASE_URL: database.url, BACKUP_ARCHIVE_PATH: bench.archives },
    DATA_DIR: join(bench.folder, 'one', 'data'),
  };
  await runScript('worker', { args: ['run'], cwd: bench.folder, env });
  const { code, stdout } = await fleet.start('one').finished;
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('4 unchanged') });
  const { id } = JSON.parse(await readFile(join(env.DATA_DIR, 'machine.json'), 'utf8'));
  const mirrors = 'SELECT DISTINCT mirror_machine AS id FROM worker_repo_state';
  expect(await rowsOf(database.db, mirrors)).toEqual([{ id }]);
});

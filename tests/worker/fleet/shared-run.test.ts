import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { completedRun, eachOnce, useFleet } from '../../support/fleet.ts';
import { createBare, git, listRefs } from '../../support/git.ts';
import { useDatabase } from '../../support/hooks.ts';
import { useHostedWorker } from '../../support/hosted-worker.ts';
import { startPingServer } from '../../support/ping-server.ts';
import { runScript } from '../../support/script.ts';
import { rowsOf } from '../../support/worker.ts';

// Workers in separate processes, each with its own DATA_DIR like a separate machine.

const database = useDatabase();
const bench = useHostedWorker(database);
const fleet = useFleet(database, bench);

it('a worker continues the archive of another machine with a mirror of its own', async () => {
  expect((await fleet.start('one').finished).code).toBe(0);
  const work = join(bench.folder, 'work', 'team', 'a');
  await git(work, 'checkout', '--quiet', '-b', 'topic');
  await git(work, 'push', '--quiet', 'origin', 'topic');
  const { code, stdout, stderr } = await fleet.start('two').finished;
  expect({ code, stdout }, stderr).toEqual({
    code: 0,
    stdout: expect.stringContaining('1 backed up, 3 unchanged'),
  });
  const bundle = join(bench.archives, 'team__a.bundle');
  const note = JSON.parse(await readFile(`${bundle}.json`, 'utf8'));
  expect(note.versions.map(({ version }: { version: number }) => version)).toEqual([1, 2]);
  expect(await listRefs(bundle)).toEqual(
    await listRefs(join(bench.folder, 'host', 'team', 'a.git')),
  );
  const idOf = async (machine: string) =>
    JSON.parse(await readFile(join(bench.folder, machine, 'data', 'machine.json'), 'utf8')).id;
  const mirrors = 'SELECT repo_full_name AS name, mirror_machine AS machine FROM worker_repo_state';
  expect(await rowsOf(database.db, `${mirrors} ORDER BY 1 LIMIT 2`)).toEqual([
    { name: 'team/a', machine: await idOf('two') },
    { name: 'team/b', machine: await idOf('one') },
  ]);
});

it.each([
  ['full bundles', {}],
  ['increments', { BACKUP_INCREMENTS_FROM_MIB: '0' }],
])(
  'no version is lost when machines with mirrors of different ages take turns: %s',
  async (_, env) => {
    const work = join(bench.folder, 'work', 'team', 'a');
    const host = join(bench.folder, 'host', 'team', 'a.git');
    const commits: string[] = [];
    for (const machine of ['one', 'two', 'one', 'two']) {
      if (commits.length > 0) {
        // The history is replaced each time, and deleted on the host.
        await git(work, 'commit', '--quiet', '--amend', '--allow-empty', '-m', `${commits.length}`);
        await git(work, 'push', '--quiet', '--force', 'origin', 'main');
        await git(host, 'prune', '--expire=now');
      }
      commits.push(await git(work, 'rev-parse', 'main'));
      expect((await fleet.start(machine, [], env).finished).code).toBe(0);
    }
    for (const [index, commit] of commits.entries()) {
      const to = join(bench.folder, `restored-${index}`);
      const args = ['restore', 'team/a', '--version', `${index + 1}`, '--bare', '--to', to];
      const restored = await bench.run({ databaseUrl: database.url, args });
      expect(restored.code, restored.stderr).toBe(0);
      expect(await git(to, 'rev-parse', 'main')).toBe(commit);
    }
  },
);

describe('two workers', () => {
  it("report one start and one end to a dead man's switch, under the same id", async () => {
    const server = await startPingServer();
    try {
      const { first, second, release } = await fleet.startTwo({ HEARTBEAT_URL: server.address });
      release();
      await Promise.all([first.finished, second.finished]);
      const ends = server.pings.filter(({ what }) => what === '');
      expect(server.pings.map(({ what }) => what)).toEqual(['/start', ...ends.map(() => '')]);
      expect(ends.length).toBeGreaterThan(0);
      expect(new Set(server.pings.map(({ rid }) => rid)).size).toBe(1);
    } finally {
      await server.close();
    }
  });

  it('share a run: each repository once, and the same figures and exit code for both', async () => {
    const { first, second, release } = await fleet.startTwo();
    release();
    const ended = await Promise.all([first.finished, second.finished]);
    for (const { code, stdout, stderr } of ended) {
      expect(code, stderr).toBe(0);
      expect(stdout).toMatch(/^Run \d+ completed: 4 repositories, 4 backed up, 0 unchanged, 0 f/);
    }
    expect(await fleet.runs()).toEqual([completedRun]);
    expect(await fleet.results()).toEqual(eachOnce);
    const archives = await readdir(bench.archives);
    expect(archives.filter((name) => name.endsWith('.bundle'))).toHaveLength(4);
    expect(archives.filter((name) => name.startsWith('.'))).toEqual([]);
    expect(await fleet.left()).toEqual([{ jobs: 0, members: 0 }]);
    const snapshots = 'SELECT archive_count FROM analytics_snapshots';
    expect((await rowsOf(database.db, snapshots)).at(-1)).toEqual({ archive_count: 4 });
  });

  it('show their progress together', async () => {
    const { first, second, release } = await fleet.startTwo();
    // Each writes at most once a second; both have begun.
    const progress = () => rowsOf(database.db, 'SELECT progress FROM backup_runs');
    await expect.poll(progress, { timeout: 120_000 }).toEqual([
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

  it.each(['files', 'parts'])('push to one destination in the layout %s', async (layout) => {
    const target = join(bench.folder, 'target.git');
    await createBare(target);
    const env = { BACKUP_REPO_PATH: target, BACKUP_REPO_LAYOUT: layout };
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
    if (layout === 'files') {
      expect(pushed).toEqual(['a', 'b', 'c', 'd'].map((name) => `team__${name}.bundle`));
      return;
    }
    const archives = await git(target, 'ls-tree', '--name-only', 'HEAD:archives');
    expect(archives.split('\n')).toEqual(['a', 'b', 'c', 'd'].map((name) => `team__${name}`));
    const results = await rowsOf<{ status: string }>(
      database.db,
      'SELECT status FROM backup_results WHERE run_id = (SELECT max(id) FROM backup_runs)',
    );
    expect(results.map(({ status }) => status)).toEqual(Array(4).fill('completed'));
  });
});

it('a shared run fails an excluded repository whose archive is damaged, like a run alone', async () => {
  await bench.run({ databaseUrl: database.url });
  const path = join(bench.archives, 'team__d.bundle');
  const bundle = await readFile(path);
  bundle[bundle.length - 1] = (bundle.at(-1) ?? 0) ^ 1;
  await writeFile(path, bundle);
  const note = JSON.parse(await readFile(`${path}.json`, 'utf8'));
  await writeFile(`${path}.json`, JSON.stringify({ ...note, checked_at: null }));
  const { code, stdout } = await fleet.start('one', ['--exclude', 'team/d']).finished;
  expect({ code, stdout }).toEqual({
    code: 1,
    stdout: expect.stringContaining('3 repositories, 0 backed up, 3 unchanged, 1 failed'),
  });
  expect((await fleet.runs()).at(-1)).toMatchObject({ status: 'completed', failed: 1 });
  const snapshots = 'SELECT archive_count, total_commits FROM analytics_snapshots ORDER BY id';
  expect((await rowsOf(database.db, snapshots)).at(-1)).toEqual({
    archive_count: 4,
    total_commits: expect.any(Number),
  });
});

it('a shared run keeps no token in the database', async () => {
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

it('a shared run continues with what a run without --join has left', async () => {
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

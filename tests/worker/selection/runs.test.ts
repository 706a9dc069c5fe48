import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { nullIfMissing } from '../../../lib/files.ts';
import { useDatabase } from '../../support/hooks.ts';
import { useHostedWorker } from '../../support/hosted-worker.ts';
import { rowsOf } from '../../support/worker.ts';

const database = useDatabase();
const bench = useHostedWorker(database);
beforeEach(async () => {
  await database.db.query({ text: 'DELETE FROM backup_run_requests' });
  for (const name of ['a', 'b', 'c']) await bench.add({ fullName: `team/${name}` });
  await bench.logIn();
});

const run = (args: string[] = [], env: Record<string, string> = {}) =>
  bench.run({ databaseUrl: database.url, args: ['run', ...args], env });
const results = () =>
  rowsOf<{ name: string; status: string }>(
    database.db,
    `SELECT repo_full_name AS name, status FROM backup_results
     WHERE run_id = (SELECT max(id) FROM backup_runs) ORDER BY 1`,
  );
const ask = (target: string | null) =>
  database.db.query({ text: 'INSERT INTO backup_run_requests (target_repo) VALUES ($1)' }, [
    target ?? '',
  ]);
const requests = () =>
  rowsOf(database.db, 'SELECT target_repo AS target, status FROM backup_run_requests ORDER BY id');

describe('a run with a selection', () => {
  it('backs up and counts only selected repositories', async () => {
    const { code, stdout } = await run(['--only', 'TEAM/*', '--exclude', 'b']);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining('2 repositories, 2 backed up'),
    });
    expect(await results()).toEqual([
      { name: 'team/a', status: 'completed' },
      { name: 'team/c', status: 'completed' },
    ]);
    const total = 'SELECT total_repos FROM backup_runs';
    expect(await rowsOf(database.db, total)).toEqual([{ total_repos: 2 }]);
  });

  it('also selects from given sources', async () => {
    const sources = ['a', 'b'].flatMap((name) => [
      '--source',
      join(bench.folder, 'work/team', name),
    ]);
    expect((await run([...sources, '--only', 'a'])).code).toBe(0);
    expect(await results()).toEqual([{ name: 'local/a', status: 'completed' }]);
  });

  it('does not report an excluded repository as lost or missing', async () => {
    await run();
    bench.host.state.repositories.delete('team/b');
    for (const { repositories } of bench.host.state.installations) {
      repositories.splice(repositories.indexOf('team/b'), 1);
    }
    expect((await run()).code).toBe(1);
    expect(await results()).toEqual([{ name: 'team/b', status: 'failed' }]);
    const { code, stdout } = await run([], { BACKUP_EXCLUDE: 'team/b' });
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining('2 repositories, 0 backed up, 2 unchanged, 0 failed'),
    });
  });

  it('also measures excluded repositories, because their archives are still there', async () => {
    await run();
    await run(['--only', 'a']);
    const counts =
      'SELECT tracked_files, archive_count FROM analytics_snapshots ORDER BY id DESC LIMIT 2';
    const all = { tracked_files: 3, archive_count: 3 };
    expect(await rowsOf(database.db, counts)).toEqual([all, all]);
  });

  it('fails if nothing is selected', async () => {
    const { code, stdout, stderr } = await run(['--only', 'x']);
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: expect.stringContaining('failed (nothing to back up: --only and --exclude leave'),
      stderr: expect.stringContaining('warn: --only x matches no repository'),
    });
  });
});

describe('a request', () => {
  it('for all repositories is fulfilled without those that a variable excludes', async () => {
    await ask(null);
    await run([], { BACKUP_EXCLUDE: 'b' });
    expect(await requests()).toEqual([{ target: '', status: 'completed' }]);
  });

  it('for all repositories stays pending if an option excludes a tracked one', async () => {
    await run();
    await ask(null);
    await run(['--exclude', 'b']);
    expect(await requests()).toEqual([{ target: '', status: 'pending' }]);
  });

  it('for an excluded repository stays pending, and does not fail as unknown', async () => {
    await ask('team/b');
    await ask('team/unknown');
    await run([], { BACKUP_EXCLUDE: 'b' });
    expect(await requests()).toEqual([
      { target: 'team/b', status: 'pending' },
      { target: 'team/unknown', status: 'failed' },
    ]);
  });
});

describe('a dry run', () => {
  it('lists what would be done and why, without recording a run or writing anything', async () => {
    await run(['--only', 'a']);
    bench.host.addRepository({ fullName: 'team/off', disabled: true });
    bench.host.state.installations[0]?.repositories.push('team/off');
    const before = await rowsOf(database.db, 'SELECT count(*) FROM backup_runs');
    const files = await readdir(bench.archives);
    const { code, stdout } = await run(['--dry-run', '--exclude', 'c']);
    expect({ code, lines: stdout.trim().split('\n').sort() }).toEqual({
      code: 0,
      lines: [
        'Dry run: 4 repositories, 1 new, 1 to check, 1 would fail, 1 left out.',
        expect.stringMatching(/^team\/a: would be checked: has an archive of \d+ B$/),
        'team/b: would be backed up: no complete archive',
        'team/c: left out: excluded by --exclude c',
        'team/off: would fail: the git host has disabled this repository (451)',
      ],
    });
    expect(await rowsOf(database.db, 'SELECT count(*) FROM backup_runs')).toEqual(before);
    expect(await readdir(bench.archives)).toEqual(files);
  });

  it('creates no folders either, and fails if discovery fails', async () => {
    const data = `${bench.archives}-data`;
    await rm(data, { recursive: true, force: true });
    expect((await run(['--dry-run'])).stdout).toContain('3 new');
    expect(await nullIfMissing(readdir(bench.archives))).toBeNull();
    expect(await nullIfMissing(readdir(data))).toBeNull();
    bench.host.state.tokens.clear();
    expect(await run(['--dry-run'])).toMatchObject({ code: 4, stdout: '' });
  });
});

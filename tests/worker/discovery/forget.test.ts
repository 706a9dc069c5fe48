import { hostname } from 'node:os';
import { beforeEach, expect, it } from 'vitest';
import { useDatabase } from '../../support/hooks.ts';
import { useHostedWorker } from '../../support/hosted-worker.ts';
import { rowsOf } from '../../support/worker.ts';

const database = useDatabase();
const bench = useHostedWorker(database);

const work = (...args: string[]) => bench.run({ databaseUrl: database.url, args });
const results = () =>
  rowsOf<{ name: string; status: string }>(
    database.db,
    `SELECT repo_full_name AS name, status FROM backup_results
     WHERE run_id = (SELECT max(id) FROM backup_runs) ORDER BY repo_full_name`,
  );

beforeEach(() => database.db.query({ text: 'TRUNCATE backup_run_requests' }));

it('a forgotten repository is not missed until it is back', async () => {
  for (const fullName of ['team/a', 'team/b', 'team/gone']) await bench.add({ fullName });
  await bench.logIn();
  expect((await work('run')).code).toBe(0);
  const gone = bench.host.state.repositories.get('team/gone');
  bench.host.state.repositories.delete('team/gone');
  const failed = await work('run');
  expect(failed.code).toBe(1);
  expect(failed.stdout).toContain('npm run worker -- forget OWNER/NAME');

  expect(await work('forget', 'TEAM/gone')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Forgot TEAM/gone, until a run records something about it.'),
  });
  expect((await work('forget')).stdout).toMatch(
    new RegExp(`^team/gone: forgotten 20\\S+Z by .+ on ${hostname()}\n$`),
  );
  await database.db.query({
    text: "INSERT INTO backup_run_requests (status, target_repo) VALUES ('pending', 'team/gone')",
  });
  expect((await work('run')).code).toBe(0);
  expect(await results()).toEqual([]);
  // A request that no run can fulfil does not stay pending.
  expect(await rowsOf(database.db, 'SELECT status FROM backup_run_requests')).toEqual([
    { status: 'failed' },
  ]);

  if (gone === undefined) throw new Error('the host has no such repository');
  bench.host.state.repositories.set('team/gone', gone);
  expect((await work('run')).code).toBe(0);
  expect((await work('forget')).stdout).toBe('Nothing is forgotten.\n');
  bench.host.state.repositories.delete('team/gone');
  expect((await work('run')).code).toBe(1);
  expect(await results()).toEqual([{ name: 'team/gone', status: 'failed' }]);
});

it('a forgotten repository can be taken back', async () => {
  await bench.add({ fullName: 'team/a' });
  await bench.logIn();
  await work('run');
  expect((await work('forget', 'team/a')).stdout).toContain(
    '`npm run worker -- forget team/a --undo` tracks it again',
  );
  expect(await work('forget', 'team/A', '--undo')).toMatchObject({
    code: 0,
    stdout: 'team/A is tracked again.\n',
  });
  expect(await work('forget', 'team/A', '--undo')).toMatchObject({
    code: 1,
    stdout: 'team/A is not forgotten.\n',
  });
});

it('forget reports a repository that does not exist, and a missing name', async () => {
  expect(await work('forget', 'team/none')).toMatchObject({
    code: 1,
    stdout: 'There is no repository team/none.\n',
  });
  await expect(work('forget', '--undo')).rejects.toMatchObject({ code: 'BAD_REQUEST' });
});

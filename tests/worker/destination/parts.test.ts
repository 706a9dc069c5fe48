import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { git } from '../../support/git.ts';
import { useDatabase, useHostedWorker } from '../../support/hooks.ts';
import { rowsOf } from '../../support/worker.ts';

const database = useDatabase();
const bench = useHostedWorker(database);

const lastResults = () =>
  rowsOf<{ repo_full_name: string; status: string; error_message: string }>(
    database.db,
    `SELECT repo_full_name, status, error_message FROM backup_results
     WHERE run_id = (SELECT max(id) FROM backup_runs) ORDER BY repo_full_name`,
  );
const runTo = (destination: string, args = ['run'], env: Record<string, string> = {}) =>
  bench.run({ databaseUrl: database.url, args, env: { BACKUP_REPO_PATH: destination, ...env } });

describe('an empty destination', () => {
  let target: string;
  const at = (...args: string[]) => git(target, ...args);
  beforeEach(async () => {
    target = join(bench.folder, 'backups.git');
    await git(bench.folder, 'init', '--quiet', '--bare', '--initial-branch=trunk', target);
  });

  it('gets all archives of a run in one commit, with how to restore them', async () => {
    await bench.add({ fullName: 'team/a', private: true });
    await bench.add({ fullName: 'team/b' });
    await bench.logIn();
    const { code, stderr } = await runTo(target);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const paths = (await at('ls-tree', '-r', '--name-only', 'trunk')).split('\n');
    expect(paths.map((path) => path.replace(/[0-9a-f]{64}/, 'SHA').replace(/\.\d+$/, ''))).toEqual([
      'README.md',
      'archives/team__a/objects/SHA.part-0001-of-0001',
      'archives/team__a/objects/SHA.part-0001-of-0001',
      'archives/team__a/states/00000001.json.part-0001-of-0001',
      'archives/team__b/objects/SHA.part-0001-of-0001',
      'archives/team__b/objects/SHA.part-0001-of-0001',
      'archives/team__b/states/00000001.json.part-0001-of-0001',
    ]);
    expect(await at('log', '--format=%s', 'trunk')).toBe('Back up 2 archives');
    expect(await at('fsck', '--full', '--strict')).toBe('');
    const results = await lastResults();
    expect(results.map(({ status }) => status)).toEqual(['completed', 'completed']);
    expect((await readdir(bench.archives)).filter((name) => name.startsWith('.'))).toEqual([]);

    const again = await runTo(target);
    expect(again.stdout).toContain('2 unchanged');
    expect(await at('rev-list', '--count', 'trunk')).toBe('1');
  });
});

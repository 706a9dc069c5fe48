import { mkdir, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { execa } from 'execa';
import { beforeEach, describe, expect, it } from 'vitest';
import { readDocument } from '../support/documents.ts';
import { useDatabase } from '../support/hooks.ts';
import { useHostedWorker } from '../support/hosted-worker.ts';
import { runScript } from '../support/script.ts';
import { rowsOf } from '../support/worker.ts';

const project = resolve(import.meta.dirname, '../..');
const database = useDatabase();
const bench = useHostedWorker(database);
beforeEach(async () => {
  await bench.add({ fullName: 'team/a' });
});

const lastRun = async () =>
  (
    await rowsOf(
      database.db,
      'SELECT status, error_message, successful FROM backup_runs ORDER BY id DESC LIMIT 1',
    )
  )[0];

describe('a scheduled run', () => {
  const environment = () => ({
    ...bench.env,
    DATABASE_URL: database.url,
    BACKUP_ARCHIVE_PATH: bench.archives,
    DRILL_BUDGET_MINUTES: '0',
  });
  const run = () => runScript('worker', { args: ['run'], cwd: bench.folder, env: environment() });

  it('reports the outcome by its exit code', async () => {
    await bench.logIn();
    expect((await run()).code).toBe(0);
    expect(await lastRun()).toMatchObject({ status: 'completed', successful: 1 });
    await bench.run({ databaseUrl: database.url, args: ['logout', 'github'] });
    expect((await run()).code).toBe(4);
    expect(await lastRun()).toMatchObject({ status: 'failed' });
    await bench.logIn();
    bench.http.answers.set('team/a', (c) => c.text('oops', 400));
    expect((await run()).code).toBe(1);
    expect(await lastRun()).toMatchObject({ status: 'completed' });
  });

  it('fulfils requests, also for repositories that only discovery finds', async () => {
    await bench.logIn();
    for (const target of ['TEAM/a', 'team/unknown']) {
      await database.db.query(
        { text: `INSERT INTO backup_run_requests (target_repo, requested_by) VALUES ($1, 'mcp')` },
        [target],
      );
    }
    await run();
    const requests = 'SELECT target_repo, status FROM backup_run_requests ORDER BY id';
    expect(await rowsOf(database.db, requests)).toEqual([
      { target_repo: 'TEAM/a', status: 'completed' },
      { target_repo: 'team/unknown', status: 'failed' },
    ]);
  });

  it.each([
    ['cron', /^17 3 \* \* \* (cd .*)$/m],
    ['systemd', /^ExecStart=(.*)$/m],
  ])(
    'works as documented for %s in docs/worker.md, with an empty environment',
    async (_who, line) => {
      await bench.logIn();
      const [, command = ''] = line.exec(readDocument('docs/worker.md')) ?? [];
      // With the checkout at the documented path, and nothing from the developer's machine.
      const checkout = join(bench.folder, 'checkout');
      await mkdir(join(checkout, '.data'), { recursive: true });
      for (const name of ['scripts', 'node_modules']) {
        await symlink(join(project, name), join(checkout, name));
      }
      const { exitCode, all } = await execa(
        'sh',
        ['-c', command.replaceAll('/opt/backup-observatory', checkout)],
        {
          ...{ cwd: checkout, extendEnv: false, reject: false, all: true },
          env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: bench.folder, ...environment() },
        },
      );
      expect(exitCode, all).toBe(0);
      expect(await lastRun()).toMatchObject({ status: 'completed', successful: 1 });
    },
  );
});

import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { useTemporaryFolder } from '../../support/folders.ts';
import { createRepository } from '../../support/git.ts';
import { useDatabase } from '../../support/hooks.ts';
import { callWorker, lastResults, rowsOf } from '../../support/worker.ts';

const database = useDatabase();
const folder = useTemporaryFolder();

it('an archive that is made again reaches its store in the same run, which still tells of the loss', async () => {
  const app = await createRepository(join(folder, 'app'));
  await app.commit({ 'a.txt': 'a' });
  const archives = join(folder, 'archives');
  const store = join(folder, 'store');
  await mkdir(store);
  const run = () =>
    callWorker({
      databaseUrl: database.url,
      archives,
      args: ['run', '--source', app.path],
      env: { BACKUP_STORES: `file://${store}` },
    });
  expect((await run()).code).toBe(0);
  for (const name of await readdir(archives)) await rm(join(archives, name), { recursive: true });
  await app.commit({ 'a.txt': 'b' });
  expect((await run()).code).toBe(1);
  expect(await lastResults(database.db)).toMatchObject([
    { status: 'failed', error_message: expect.stringMatching(/^a new archive was made, because/) },
  ]);
  const stored = () =>
    rowsOf(
      database.db,
      `SELECT count(*)::int AS times FROM execution_logs WHERE message LIKE 'stored in %'`,
    );
  expect(await stored()).toEqual([{ times: 2 }]);
  const next = await run();
  expect(next.code, next.stderr).toBe(0);
  expect(await stored()).toEqual([{ times: 2 }]);
});

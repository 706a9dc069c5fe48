import { expect, it } from 'vitest';
import { type Database, databaseUnavailable } from '../../../lib/database/database.ts';
import { createClient } from '../../support/client.ts';
import { setUpTeamApp } from '../../support/team-app.ts';
import { rowsOf } from '../../support/worker.ts';

const team = setUpTeamApp();

/** Resolves when a statement with this name has ended; `fails` makes each of them fail. */
function watch(name: string, fails = false) {
  const over = Promise.withResolvers<void>();
  const wrap = (db: Database): Database => ({
    ...db,
    async query<Row>(...args: Parameters<Database['query']>) {
      if (args[0].name !== name) return db.query<Row>(...args);
      try {
        if (fails) throw databaseUnavailable(new Error('lost'));
        return await db.query<Row>(...args);
      } finally {
        over.resolve();
      }
    },
  });
  return { over: over.promise, wrap };
}

it('the API returns progress while a repository is fetched, and none at the end', async () => {
  const held = team.server.holdFetch();
  const { over, wrap } = watch('progress_of_run');
  const run = team.backUp({ wrap });
  await Promise.all([held.came, over]);
  const { get } = createClient({ db: team.database.db });
  const active = [{ repository: 'team/app', phase: 'cloning', percent: null, bytes: null }];
  expect((await get('/api/overview')).body).toMatchObject({
    running: { id: 1, progress: { bytes: 0, active } },
  });
  held.release();
  expect((await run).code).toBe(0);
  expect(await rowsOf(team.database.db, 'SELECT status, progress FROM backup_runs')).toEqual([
    { status: 'completed', progress: null },
  ]);
});

it('a progress write that fails does not fail the run', async () => {
  const { over, wrap } = watch('progress_of_run', true);
  const { code, stdout } = await team.backUp({ wrap });
  await over;
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('1 backed up') });
});

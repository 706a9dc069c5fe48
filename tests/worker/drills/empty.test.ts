import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { createClient } from '../../support/client.ts';
import { createTestClock } from '../../support/clock.ts';
import { useEmptyLedger } from '../../support/drills.ts';
import { createRepository, git } from '../../support/git.ts';
import { useDatabase } from '../../support/hooks.ts';
import { sql } from '../../support/records.ts';
import { useVersionedApp } from '../../support/versioned-app.ts';
import { callWorker, rowsOf } from '../../support/worker.ts';

const database = useDatabase();
const world = useVersionedApp(database);
useEmptyLedger(database);

const call = (...args: string[]) =>
  callWorker({
    databaseUrl: database.url,
    archives: world.archives,
    args,
    env: { DRILL_BUDGET_MINUTES: '5' },
  });
const empty = () => join(world.folder, 'empty');
const backUp = () => call('run', '--source', world.app.path, '--source', empty());
const proofs = async () => {
  const { body } = await createClient({ db: database.db, clock: createTestClock(Date.now()) }).get(
    '/api/overview',
  );
  const { repositories, proofs } = body as Record<'repositories' | 'proofs', object>;
  return { ...repositories, ...proofs };
};

beforeEach(() => createRepository(empty()));

it('is said to be empty where its archive is asked for', async () => {
  await backUp();
  const empty =
    /^there is no archive of Local\/Empty in the archive folder: its source was empty when it was last read, at \S+ \S+ UTC, so there is nothing to restore$/;
  await expect(call('versions', 'Local/Empty')).rejects.toThrow(empty);
  await expect(
    call('restore', 'Local/Empty', '--to', join(world.folder, 'restored')),
  ).rejects.toThrow(empty);
  await expect(call('versions', 'local/mistyped')).rejects.toThrow(/in the archive folder$/);
  const away = callWorker({
    databaseUrl: 'postgres://127.0.0.1:1/away',
    archives: world.archives,
    args: ['versions', 'local/empty'],
  });
  await expect(away).rejects.toThrow(/in the archive folder$/);
});

describe('a restore drill of an empty repository', () => {
  it('proves that it is empty, after a run and on request', async () => {
    const { stderr } = await backUp();
    expect(stderr).toContain('restore drill: proven: local/empty is empty');
    expect(await call('drill', '--repo', 'Local/Empty')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^proven: local\/empty is empty.*\nDrilled 1 repository: 1 proven/,
      ),
    });
    expect(await proofs()).toMatchObject({ total: 2, good: 2, proven: 2, never: 0 });
    const [row] = await rowsOf(
      database.db,
      "SELECT * FROM restore_drills WHERE repository_name = 'local/empty' ORDER BY id LIMIT 1",
    );
    expect(row).toMatchObject({
      ...{ version: null, storage: 'folder', bytes: 0, outcome: 'proven', reason: null },
      evidence: { empty: true, refs: 0, found_empty_at: expect.any(String) },
    });
  });

  it('rests like that of any other repository', async () => {
    await backUp();
    expect((await call('drill')).stdout).toBe('No restore drill was done.\n');
  });

  it('no longer counts once the repository has something', async () => {
    await backUp();
    await git(empty(), 'pull', '--quiet', world.app.path, 'main');
    await call('run', '--source', empty());
    const states = () =>
      rowsOf(
        database.db,
        "SELECT version, outcome FROM restore_drills WHERE repository_name = 'local/empty' ORDER BY id",
      );
    expect(await states()).toEqual([
      { version: null, outcome: 'proven' },
      { version: 1, outcome: 'proven' },
    ]);
    await rm(join(world.archives, 'local__empty.bundle'));
    expect((await call('drill', '--repo', 'local/empty')).code).toBe(1);
    expect(await proofs()).toMatchObject({ proven: 1, failing: 1 });
  });

  it('does not stand for an archive that was never proven', async () => {
    await backUp();
    await git(empty(), 'pull', '--quiet', world.app.path, 'main');
    await callWorker({
      databaseUrl: database.url,
      archives: world.archives,
      args: ['run', '--source', empty()],
    });
    expect(await proofs()).toMatchObject({ proven: 1, never: 1 });
  });

  it('is incomplete if no run has read the source for a week', async () => {
    await backUp();
    await sql(
      database.db,
      "UPDATE backup_results SET created_at = created_at - interval '8 days' WHERE status = 'empty'",
    );
    expect(await call('drill', '--repo', 'local/empty')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^incomplete: local\/empty .*no run has read it since/),
    });
  });
});

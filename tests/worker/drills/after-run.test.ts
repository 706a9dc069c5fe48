import { readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Database } from '../../../lib/database/database.ts';
import { tryProcessLock } from '../../../lib/processes/instant-lock.ts';
import { claimDrill, releaseDrillClaim } from '../../../lib/records/drills/due.ts';
import { useEmptyLedger } from '../../support/drills.ts';
import { useDatabase } from '../../support/hooks.ts';
import { useVersionedApp } from '../../support/versioned-app.ts';
import { callWorker, rowsOf, type WorkerCall } from '../../support/worker.ts';

const database = useDatabase();
const world = useVersionedApp(database);
useEmptyLedger(database);

const rows = (select: string) => rowsOf(database.db, select);
const outcomes = () => rows('SELECT outcome FROM restore_drills ORDER BY restore_drills.id');
const run = (args: string[] = [], more: Partial<WorkerCall> = {}) =>
  callWorker({
    ...{ databaseUrl: database.url, archives: world.archives },
    args: ['run', '--source', world.app.path, ...args],
    env: { DRILL_BUDGET_MINUTES: '5', VERIFY_BUDGET_MINUTES: '0' },
    ...more,
  });

/** Damages the archive without changing its size or time, so that no run notices before the drill. */
async function damage(): Promise<void> {
  const path = join(world.archives, 'local__app.bundle');
  const { atime, mtimeMs } = await stat(path);
  const bytes = await readFile(path);
  const middle = Math.floor(bytes.length / 2);
  await writeFile(path, bytes.fill(0x5a, middle, middle + 40));
  // In the middle of the same millisecond.
  await utimes(path, atime, (Math.floor(mtimeMs) + 0.5) / 1_000);
}

describe('the drills after a run', () => {
  it('prove what the run backed up, after it has ended and released its lock', async () => {
    const seen: unknown[] = [];
    const wrap = (db: Database): Database => ({
      ...db,
      async query(statement, values, options) {
        if (statement.name === 'record_drill') {
          const lock = await tryProcessLock(join(`${world.archives}-data`, 'worker.lock'));
          seen.push(lock.held, await rows('SELECT status FROM backup_runs'));
          if (lock.held) lock.release();
        }
        return db.query(statement, values, options);
      },
    });
    const { code, stderr } = await run([], { wrap });
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('restore drill: proven: local/app, version 1 from folder'),
    });
    expect(seen).toEqual([true, [{ status: 'completed' }]]);
    expect(await outcomes()).toEqual([{ outcome: 'proven' }]);
    // Not due again.
    expect((await run()).stderr).not.toContain('drill');
    expect(await outcomes()).toHaveLength(1);
  });

  it('report a failure without changing the results of the run', async () => {
    await run([], { env: { DRILL_BUDGET_MINUTES: '0' } });
    await damage();
    const { code, stdout, stderr } = await run();
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Run 2 completed: 1 repository, 0 backed up, 1 unchanged/),
    });
    expect(stderr).toContain('restore drill: FAILED: local/app, version 1 from folder');
    expect(
      await rows(`SELECT run_id, level FROM execution_logs WHERE message LIKE 'a restore drill%'`),
    ).toEqual([{ run_id: 2, level: 'error' }]);
    expect(await rows('SELECT status, failed FROM backup_runs WHERE id = 2')).toEqual([
      { status: 'completed', failed: 0 },
    ]);
  });

  it('are reported as JSON lines with --json', async () => {
    const { stdout } = await run(['--json']);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.slice(-2)).toMatchObject([
      { event: 'summary', status: 'completed' },
      { event: 'drill', repository: 'local/app', version: 1, outcome: 'proven', run_id: 1 },
    ]);
  });

  it.each([
    ['with a budget of 0', [], { DRILL_BUDGET_MINUTES: '0' }],
    ['in a dry run', ['--dry-run'], { DRILL_BUDGET_MINUTES: '5' }],
  ])('do not happen %s', async (_what, args, env) => {
    await world.backUpFirst();
    await run(args, { env });
    expect(await outcomes()).toEqual([]);
  });

  it('leave out a repository that another worker is drilling', async () => {
    await world.backUpFirst();
    const all = { now: new Date().toISOString(), isForced: true, only: null, without: [] };
    expect(await claimDrill(database.db, 'other', all)).toMatchObject({ repository: 'local/app' });
    await run();
    expect(await outcomes()).toEqual([]);
    await releaseDrillClaim(database.db, 'other', 'local/app');
    await run();
    expect(await outcomes()).toEqual([{ outcome: 'proven' }]);
    expect(await rows('SELECT * FROM restore_drill_claims')).toEqual([]);
  });

  it('end at Ctrl-C with the exit code of the run', async () => {
    const stop = new AbortController();
    const wrap = (db: Database): Database => ({
      ...db,
      query(statement, values, options) {
        if (statement.name === 'recorded_version_of_drill') stop.abort(new Error('stopped'));
        return db.query(statement, values, options);
      },
    });
    const { code } = await run([], { wrap, signal: stop.signal });
    expect(code).toBe(0);
    expect(await outcomes()).toEqual([]);
    expect(await rows('SELECT status FROM backup_runs')).toEqual([{ status: 'completed' }]);
  });
});

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../lib/clock.ts';
import { type Database, databaseUnavailable } from '../../lib/database/database.ts';
import { sweepStaleRuns } from '../../lib/records/runs/stale-runs.ts';
import { RunStopped } from '../../lib/worker/base/stop.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { createPostgres } from '../support/databases.ts';
import { listRefs } from '../support/git.ts';
import { setUpTeamApp } from '../support/team-app.ts';
import { rowsOf } from '../support/worker.ts';

const team = setUpTeamApp();
const lastRun = async () =>
  (
    await rowsOf(
      team.database.db,
      `SELECT status, error_message, exclusive_key, successful, failed FROM backup_runs
       ORDER BY id DESC LIMIT 1`,
    )
  )[0];

/** Resolves each time a statement with this name was answered. */
function watch(name: string) {
  let seen = Promise.withResolvers<void>();
  return {
    next: () => {
      seen = Promise.withResolvers<void>();
      return seen.promise;
    },
    wrap: (db: Database): Database => ({
      ...db,
      async query<Row>(...[statement, ...rest]: Parameters<Database['query']>) {
        const rows = await db.query<Row>(statement, ...rest);
        if (statement.name === name) seen.resolve();
        return rows;
      },
    }),
  };
}

describe('the heartbeat', () => {
  it('beats every 30 seconds, also during a long clone', async () => {
    const held = team.server.holdFetch();
    const clock = createTestClock();
    const beats = watch('beat_run');
    const run = team.backUp({ clock, wrap: beats.wrap });
    await held.came;
    const heartbeat = 'SELECT heartbeat_at::text AS at FROM backup_runs';
    let [before] = await rowsOf(team.database.db, heartbeat);
    for (let beat = 0; beat < 3; beat++) {
      const next = beats.next();
      clock.advance(29_999);
      expect(await rowsOf(team.database.db, heartbeat)).toEqual([before]);
      clock.advance(1);
      await next;
      const [after] = await rowsOf(team.database.db, heartbeat);
      expect(after).not.toEqual(before);
      before = after;
      await sleeping(clock);
    }
    held.release();
    expect((await run).code).toBe(0);
  });

  it('ends the run if a sweep closed it, and does not change its row', async () => {
    const held = team.server.holdFetch();
    const clock = createTestClock();
    const run = team.backUp({ clock });
    await held.came;
    await sweepStaleRuns(team.database.db, { now: Date.now() + 60_000, staleAfterMs: 1 });
    const swept = await lastRun();
    clock.advance(30_000);
    const { code, stdout } = await run;
    held.release();
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: expect.stringContaining('failed (another process ended this run)'),
    });
    expect(await lastRun()).toEqual(swept);
    expect(await readdir(team.archives)).toEqual([]);
  });
});

/** Resolves when the heartbeat sleeps again. */
async function sleeping(clock: TestClock): Promise<void> {
  while (clock.sleepers() === 0) await new Promise(setImmediate);
}

describe('a database that becomes unreachable during a run', () => {
  /** The run's waits for the database end immediately; the heartbeat stands still. */
  function impatient(): Clock {
    const clock = createTestClock();
    return {
      now: clock.now,
      sleep(ms, signal) {
        const slept = clock.sleep(ms, signal);
        if (ms < 30_000) clock.advance(ms);
        return slept;
      },
    };
  }

  it('does not end the run, which the next run delivers', async () => {
    const held = team.server.holdFetch();
    const run = team.backUp({ clock: impatient() });
    await held.came;
    await team.database.close();
    held.release();
    const { code, stdout, stderr } = await run;
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^Run 1 completed: .* 1 backed up[\s\S]*this run is spooled/),
      stderr: expect.stringContaining('warn: the database is unreachable: this run is spooled'),
    });
    expect((await readdir(team.archives)).sort()).toEqual([
      'team__app.bundle',
      'team__app.bundle.json',
      'team__app.versions',
    ]);
    expect(await listRefs(join(team.archives, 'team__app.bundle'))).toEqual(
      await listRefs(team.app.path),
    );
    // Also in a database without a record of the run.
    team.database = await createPostgres();
    const next = await team.backUp();
    expect(next.stdout).toContain('0 backed up, 1 unchanged');
    expect(next.stderr).toContain('delivered run 1 with 1 result');
    const runs = 'SELECT id, status, total_repos, successful, skipped FROM backup_runs ORDER BY id';
    const counts = { status: 'completed', total_repos: 1 };
    expect(await rowsOf(team.database.db, runs)).toEqual([
      { id: 1, ...counts, successful: 1, skipped: 0 },
      { id: 2, ...counts, successful: 0, skipped: 1 },
    ]);
  });

  it.each(['record_result', 'finish_run', 'claim_requests', 'write_snapshot'])(
    'is written to once when it returns, even if the response to %s was lost',
    async (name) => {
      await team.database.db.query({
        text: `INSERT INTO backup_run_requests (target_repo) VALUES ('team/app')`,
      });
      let losses = 3;
      const wrap = (db: Database): Database => ({
        ...db,
        async query<Row>(...[statement, ...rest]: Parameters<Database['query']>) {
          const rows = await db.query<Row>(statement, ...rest);
          if (statement.name === name && losses-- > 0) throw databaseUnavailable(new Error('lost'));
          return rows;
        },
      });
      expect(await team.backUp({ clock: impatient(), wrap })).toMatchObject({ code: 0 });
      expect(losses).toBeLessThan(0);
      expect(await lastRun()).toEqual({
        status: 'completed',
        error_message: '',
        exclusive_key: null,
        successful: 1,
        failed: 0,
      });
      const counts = `SELECT (SELECT count(*) FROM backup_results) AS results,
        (SELECT count(*) FROM analytics_snapshots) AS snapshots,
        (SELECT string_agg(status, ',') FROM backup_run_requests) AS requests`;
      expect(await rowsOf(team.database.db, counts)).toEqual([
        { results: 1, snapshots: 1, requests: 'completed' },
      ]);
    },
  );
});

describe('an interrupt', () => {
  it('stops git during a clone, removes the clone, and ends the run with its reason', async () => {
    const held = team.server.holdFetch();
    const interrupt = new AbortController();
    const run = team.backUp({ signal: interrupt.signal, isTerminal: true });
    await held.came;
    expect((await readdir(team.archives))[0]).toMatch(/^\.scratch-/);
    interrupt.abort(new RunStopped('interrupted by SIGINT'));
    const { code, stdout } = await run;
    held.release();
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: expect.stringMatching(/^Run 1 failed \(interrupted by SIGINT\): 1 repository, 0 /),
    });
    expect(await lastRun()).toMatchObject({
      status: 'failed',
      error_message: 'interrupted by SIGINT',
      exclusive_key: null,
    });
    expect(await rowsOf(team.database.db, 'SELECT 1 FROM backup_results')).toEqual([]);
    expect(await readdir(team.archives)).toEqual([]);
  });

  it('keeps the previous archive', async () => {
    await team.backUp();
    const before = await listRefs(join(team.archives, 'team__app.bundle'));
    await team.app.commit({ 'a.txt': 'b' });
    const held = team.server.holdFetch();
    const interrupt = new AbortController();
    const run = team.backUp({ signal: interrupt.signal });
    await held.came;
    interrupt.abort(new RunStopped('interrupted by SIGTERM'));
    await run;
    held.release();
    expect(await listRefs(join(team.archives, 'team__app.bundle'))).toEqual(before);
  });
});

describe('--every', () => {
  it('runs again after the pause, and ends with exit code 0 between runs', async () => {
    const clock = createTestClock();
    const interrupt = new AbortController();
    const args = ['run', '--source', team.app.path, '--every', '7'];
    const pauses: number[] = [];
    const everyMs = 7 * 60_000;
    const pausing: Clock = {
      now: clock.now,
      sleep(ms, signal) {
        const slept = clock.sleep(ms, signal);
        if (ms === everyMs && pauses.push(ms) === 2) interrupt.abort(new RunStopped('interrupted'));
        else if (ms === everyMs) clock.advance(ms);
        return slept;
      },
    };
    const { code, stdout } = await team.backUp({ clock: pausing, signal: interrupt.signal, args });
    expect({ code, lines: stdout.trim().split('\n') }).toEqual({
      code: 0,
      lines: [
        expect.stringMatching(/^Run 1 completed: .* 1 backed up, 0 unchanged/),
        expect.stringMatching(/^Run 2 completed: .* 0 backed up, 1 unchanged/),
      ],
    });
    const runs = await rowsOf(team.database.db, 'SELECT DISTINCT schedule_ms FROM backup_runs');
    expect(runs).toEqual([{ schedule_ms: everyMs }]);
  });
});

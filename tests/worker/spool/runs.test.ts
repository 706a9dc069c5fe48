import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Database, databaseUnavailable } from '../../../lib/database/database.ts';
import { startRun } from '../../../lib/records/recording/runs.ts';
import { takeMachineLease } from '../../../lib/worker/archive/lease/machine-lease.ts';
import { findClosedPort } from '../../support/down-database.ts';
import { setUpTeamApp } from '../../support/team-app.ts';
import { rowsOf } from '../../support/worker.ts';

const team = setUpTeamApp();
const spools = () => join(`${team.archives}-data`, 'spool');
const away = async () => ({
  databaseUrl: `postgres://nobody@127.0.0.1:${await findClosedPort()}/nothing`,
});
const rows = (select: string) => rowsOf(team.database.db, select);

/** Inserts what a worker leaves behind if it is killed after starting a run. */
async function killedRun(): Promise<void> {
  const lease = await takeMachineLease(`${team.archives}-data`);
  if ('busy' in lease) throw new Error(lease.reason);
  const started = await startRun(team.database.db, { totalRepos: 1, staleAfterMs: 1_000 });
  if ('active' in started) throw new Error('another run is active');
  await lease.note(started);
  await lease.release(false);
}

describe('a run while the database is unreachable', () => {
  it('archives, and is delivered by the next run with its original times', async () => {
    const first = await team.backUp(await away());
    expect(first).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        /^Run completed: 1 repository, 1 backed up.*\n.*this run is spooled in DATA_DIR, and the next run that reaches the database delivers it\.\n$/,
      ),
      stderr: expect.stringContaining('run started: 1 source'),
    });
    expect(await readdir(team.archives)).toContain('team__app.bundle');
    const [name = ''] = await readdir(spools());
    expect((await stat(spools())).mode & 0o777).toBe(0o700);
    expect((await stat(join(spools(), name))).mode & 0o777).toBe(0o600);

    const before = Date.now();
    const second = await team.backUp();
    expect(second).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^Run 2 completed: .* 0 backed up, 1 unchanged/),
      stderr: expect.stringContaining('delivered run 1 with 1 result, which was spooled'),
    });
    expect(await readdir(spools())).toEqual([]);
    expect(
      await rows(`SELECT id, status, error_message, total_repos, successful, progress,
        completed_at >= started_at AS "isOrdered", duration_ms > 0 AS "hasDuration"
        FROM backup_runs WHERE id = 1`),
    ).toEqual([
      {
        ...{ id: 1, status: 'completed', error_message: '', total_repos: 1, successful: 1 },
        ...{ progress: null, isOrdered: true, hasDuration: true },
      },
    ]);
    const [facts] = await rows(`SELECT
      (SELECT count(*) FROM backup_results WHERE run_id = 1 AND status = 'completed') AS results,
      (SELECT count(*) FROM archive_versions WHERE run_id = 1 AND ref_count > 0) AS versions,
      (SELECT count(*) FROM archive_refs) > 0 AS "hasRefs",
      (SELECT count(*) FROM analytics_snapshots WHERE run_id = 1) AS snapshots,
      (SELECT string_agg(message, '; ' ORDER BY id) FROM execution_logs WHERE run_id = 1) AS lines,
      (SELECT last_commit_hash <> '' AND archive_key = 'team__app.bundle' FROM worker_repo_state) AS state,
      (SELECT extract(epoch FROM greatest(
        (SELECT max(created_at) FROM backup_results WHERE run_id = 1),
        (SELECT max(created_at) FROM execution_logs WHERE run_id = 1),
        (SELECT max(captured_at) FROM analytics_snapshots WHERE run_id = 1),
        (SELECT completed_at FROM backup_runs WHERE id = 1))) * 1000) AS newest`);
    expect(facts).toMatchObject({
      ...{ results: 1, versions: 1, hasRefs: true, snapshots: 1, state: true },
      lines: expect.stringMatching(
        /^the database is unreachable: this run is spooled.*; run started: 1 source; .*archived.*; run completed$/,
      ),
    });
    expect(Number(facts?.newest)).toBeLessThan(before);
  });

  it('relies on the note beside the archive, and records when a repository was good', async () => {
    await team.backUp();
    await team.database.db.query({ text: 'UPDATE worker_repo_state SET checked_at = NULL' });
    const { code, stdout } = await team.backUp(await away());
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining('0 backed up, 1 unchanged'),
    });
    await team.app.commit({ 'a.txt': 'b' });
    expect((await team.backUp(await away())).stdout).toContain('1 backed up, 0 unchanged');
    expect(await readdir(spools())).toEqual([
      expect.stringMatching(/^000001-/),
      expect.stringMatching(/^000002-/),
    ]);
    expect((await team.backUp()).stdout).toContain('0 backed up, 1 unchanged');
    expect(await rows('SELECT id, successful, skipped FROM backup_runs ORDER BY id')).toEqual([
      { id: 1, successful: 1, skipped: 0 },
      { id: 2, successful: 0, skipped: 1 },
      { id: 3, successful: 1, skipped: 0 },
      { id: 4, successful: 0, skipped: 1 },
    ]);
    expect(await rows('SELECT version, run_id FROM archive_versions ORDER BY version')).toEqual([
      { version: 1, run_id: 1 },
      { version: 2, run_id: 3 },
    ]);
    expect(await rows('SELECT checked_at IS NOT NULL AS checked FROM worker_repo_state')).toEqual([
      { checked: true },
    ]);
  });

  it('ends with exit code 1 if a source was never read, and records why', async () => {
    const args = ['run', '--source', join(team.folder, 'none'), '--json'];
    const { code, stdout } = await team.backUp({ ...(await away()), args });
    expect({ code, summary: JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') }).toEqual({
      code: 1,
      summary: expect.objectContaining({
        run_id: null,
        status: 'completed',
        ...{ total_repos: 0, failed: 0 },
        unread_sources: [expect.objectContaining({ source: join(team.folder, 'none') })],
        spooled: true,
      }),
    });
    await team.backUp();
    const path = join(team.folder, 'none');
    expect(
      await rows(
        'SELECT total_repos, failed, error_message, unread_sources FROM backup_runs WHERE id = 1',
      ),
    ).toEqual([
      {
        ...{ total_repos: 0, failed: 0, error_message: `1 source could not be read: ${path}` },
        unread_sources: { [path]: expect.stringContaining('there is no folder') },
      },
    ]);
    expect(await rows('SELECT 1 FROM backup_results WHERE run_id = 1')).toEqual([]);
  });

  it('is delivered at its end if the database is reachable again', async () => {
    const wrap = (db: Database): Database => ({
      ...db,
      async query<Row>(...args: Parameters<Database['query']>) {
        if (args[0].name === 'start_run') throw databaseUnavailable(new Error('lost'));
        return db.query<Row>(...args);
      },
    });
    expect(await team.backUp({ wrap })).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^Run 1 completed: .* 1 backed up.*\n$/),
      stderr: expect.stringContaining('delivered run 1 with 1 result'),
    });
    expect(await readdir(spools())).toEqual([]);
    expect(await rows('SELECT status, successful FROM backup_runs')).toEqual([
      { status: 'completed', successful: 1 },
    ]);
  });

  it('keeps what is known about an earlier run that was killed', async () => {
    await killedRun();
    await team.backUp(await away());
    await team.backUp();
    expect(await rows('SELECT id, status, total_repos FROM backup_runs ORDER BY id')).toEqual([
      { id: 1, status: 'failed', total_repos: 1 },
      { id: 2, status: 'completed', total_repos: 1 },
      { id: 3, status: 'completed', total_repos: 1 },
    ]);
  });

  it('claims no requests, and leaves them to a run that can', async () => {
    await team.database.db.query({
      text: `INSERT INTO backup_run_requests (target_repo) VALUES ('team/app')`,
    });
    await team.backUp(await away());
    const requests = 'SELECT status, run_id FROM backup_run_requests';
    expect(await rows(requests)).toEqual([{ status: 'pending', run_id: null }]);
    await team.backUp();
    expect(await rows(requests)).toEqual([{ status: 'completed', run_id: 2 }]);
  });

  it('is refused while another run uses the DATA_DIR', async () => {
    const held = team.server.holdFetch();
    const first = team.backUp();
    await held.came;
    expect(await team.backUp(await away())).toMatchObject({ code: 75 });
    held.release();
    await first;
  });
});

import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { recordMissing } from '../../lib/records/recording/anomalies.ts';
import { recordCoverage } from '../../lib/records/recording/coverage.ts';
import { finishRun, startRun } from '../../lib/records/recording/runs.ts';
import {
  adoptSpooledRun,
  deliverChecked,
  deliverEnd,
  deliverLogs,
  deliverResult,
} from '../../lib/records/recording/spooled.ts';
import { sweepStaleRuns } from '../../lib/records/runs/stale-runs.ts';
import { everyDatabase } from '../support/databases.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty } from '../support/records.ts';
import { rowsOf } from '../support/worker.ts';

const at = '2026-01-02T03:04:05.000006Z';
const counters = { successful: 1, failed: 0, skipped: 0 };
const ending = { status: 'completed', errorMessage: '', counters, totalRepos: 1 } as const;
const staleAfterMs = 60_000;

describe.each(everyDatabase)('a spooled run on %s', (_, create) => {
  const database = useDatabase(create);
  const rows = (select: string) => rowsOf(database.db, select);

  it('remains a single run, whatever is delivered again', async () => {
    await empty(database.db);
    const { db } = database;
    const spoolId = randomUUID();
    for (let time = 0; time < 2; time++) {
      const id = await adoptSpooledRun(db, { spoolId, started: null, at });
      const line = { level: 'info', message: 'ü "{\\', at } as const;
      await deliverLogs(db, id, [
        { ...line, repository: null },
        { ...line, repository: 'a/b', at: '2026-01-02T03:04:05.000007Z' },
      ]);
      const archive = { key: 'a__b.bundle', sha256: 'a'.repeat(64) };
      const facts = { commitHash: 'c', archiveSizeBytes: 5_000_000_000, durationMs: 7 };
      const result = { repository: 'a/b', status: 'completed', errorMessage: '' } as const;
      await deliverResult(db, id, { ...result, ...facts, archive, at });
      await deliverChecked(db, 'a/b', '2026-01-02T03:04:06.000000Z');
      const later = '2026-01-02T03:05:05.000006Z';
      await deliverEnd(db, id, { ...ending, at: later, metRequests: [] });
    }
    expect(await rows('SELECT status, duration_ms, total_repos FROM backup_runs')).toEqual([
      { status: 'completed', duration_ms: 60_000, total_repos: 1 },
    ]);
    expect(await rows('SELECT repository FROM execution_logs ORDER BY id')).toEqual([
      { repository: null },
      { repository: 'a/b' },
    ]);
    expect(
      await rows(`SELECT archive_size_bytes, created_at = '${at}' AS "isOld" FROM backup_results`),
    ).toEqual([{ archive_size_bytes: 5_000_000_000, isOld: true }]);
    expect(
      await rows(`SELECT last_commit_hash, checked_at = '2026-01-02T03:04:06Z' AS checked
        FROM worker_repo_state`),
    ).toEqual([{ last_commit_hash: 'c', checked: true }]);
  });

  it('leaves no time in the future, even if a clock was ahead', async () => {
    await empty(database.db);
    const { db } = database;
    const ahead = '2099-01-02T03:04:05.000006Z';
    const id = await adoptSpooledRun(db, { spoolId: randomUUID(), started: null, at: ahead });
    const archive = { key: 'a__b.bundle', sha256: 'a'.repeat(64) };
    const facts = { commitHash: 'c', archiveSizeBytes: 5, durationMs: 7, errorMessage: '' };
    const result = { ...facts, repository: 'a/b', status: 'completed' } as const;
    await deliverResult(db, id, { ...result, archive, at: ahead });
    await deliverChecked(db, 'a/b', ahead);
    const seen = { plan: 'taken', reason: '', facts: {} } as const;
    await recordCoverage(db, id, [{ ...seen, name: 'a/b' }], ahead);
    await recordMissing(db, id, { names: ['a/c'], listed: 1 }, ahead);
    await deliverEnd(db, id, { ...ending, at: ahead, metRequests: [] });
    expect(
      await rows(`SELECT greatest(started_at, completed_at, result.created_at, checked_at, c.seen_at, a.seen_at) <= now() AS "hasHappened"
        FROM backup_runs, backup_results AS result, worker_repo_state, coverage AS c, anomalies AS a`),
    ).toEqual([{ hasHappened: true }]);
    await recordCoverage(db, id, [{ ...seen, name: 'a/d' }]);
    expect(await rows('SELECT name FROM coverage')).toEqual([{ name: 'a/d' }]);
  });

  it('continues the run that began in the database, even if that was marked as failed meanwhile', async () => {
    await empty(database.db);
    const { db } = database;
    const started = await startRun(db, { totalRepos: 1, staleAfterMs });
    if ('active' in started) throw new Error('another run is active');
    await db.query({
      text: `INSERT INTO backup_run_requests (status, run_id, target_repo)
        VALUES ('claimed', ${started.id}, 'a/b'), ('claimed', ${started.id}, 'a/c')`,
    });
    const spooled = { spoolId: randomUUID(), started, at };
    const id = await adoptSpooledRun(db, spooled);
    expect(id).toBe(started.id);
    // It no longer keeps another run from starting.
    const other = await startRun(db, { totalRepos: 0, staleAfterMs });
    if ('active' in other) throw new Error('the spooled run is still active');
    await finishRun(db, { ...ending, id: other.id, failedRequests: [] });
    const [request] = await rows('SELECT min(id) AS id FROM backup_run_requests');
    const metRequests = [Number(request?.id)];
    await deliverEnd(db, id, { ...ending, at, metRequests });
    expect(await rows('SELECT status FROM backup_run_requests ORDER BY id')).toEqual([
      { status: 'completed' },
      { status: 'failed' },
    ]);
    await db.query({ text: `UPDATE backup_runs SET status = 'running' WHERE id = ${id}` });
    expect(await sweepStaleRuns(db, { now: Date.now() + 60_000, staleAfterMs: 1 })).toEqual([id]);
    expect(await adoptSpooledRun(db, spooled)).toBe(id);
    await deliverEnd(db, id, { ...ending, counters: null, at, metRequests });
    expect(
      await rows(`SELECT status, error_message, successful FROM backup_runs WHERE id = ${id}`),
    ).toEqual([{ status: 'completed', error_message: '', successful: 1 }]);
  });
});

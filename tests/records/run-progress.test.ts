import { beforeEach, describe, expect, it } from 'vitest';
import type { RunProgress } from '../../lib/records/recording/progress.ts';
import { recordResult } from '../../lib/records/recording/results.ts';
import { beatRun, finishRun, startRun } from '../../lib/records/recording/runs.ts';
import { sweepStaleRuns } from '../../lib/records/runs/stale-runs.ts';
import { createClient } from '../support/client.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty, sql } from '../support/records.ts';

// Covers what the worker writes about a run under way, and what the service API answers.

const database = useDatabase();
const counters = { successful: 1, failed: 0, skipped: 2 };
const cloning = {
  repository: 'acme/app',
  phase: 'Receiving objects',
  percent: 42,
  bytes: 5_000_000_000,
};
let run: number;

beforeEach(async () => {
  await empty(database.db);
  const started = await startRun(database.db, { totalRepos: 9, staleAfterMs: 60_000 });
  if (!('id' in started)) throw new Error('another run is active');
  run = started.id;
});

const beat = (progress?: RunProgress) => beatRun(database.db, run, counters, progress);
const get = async (path: string) => (await createClient({ db: database.db }).get(path)).body;
const progressOf = async () => {
  const { run: read } = (await get(`/api/backups/${run}`)) as { run: { progress: unknown } };
  return read.progress;
};
const stored = async () => (await sql(database.db, 'SELECT progress FROM backup_runs'))[0];

describe('the progress of a run', () => {
  it('is part of the run wherever it is shown', async () => {
    expect(await progressOf()).toBeNull();
    const progress = { bytes: 6_000_000_000, active: [cloning] };
    expect(await beat(progress)).toBe(true);
    expect(await progressOf()).toEqual(progress);
    expect(await get('/api/overview')).toMatchObject({ running: { id: run, progress } });
    expect(await get('/api/backups')).toMatchObject({ data: [{ progress }] });
    expect(await get('/api/backups/latest')).toMatchObject({ run: { progress } });
  });

  it('stays when only the counters are written', async () => {
    await beat({ bytes: 1, active: [] });
    await beat();
    expect(await progressOf()).toEqual({ bytes: 1, active: [] });
  });

  it('is bounded, and contains only what Postgres can store', async () => {
    const hostile = {
      repository: `acme/\0\ud800${'x'.repeat(1_000)}`,
      phase: 'Receiving \u001b[31mobjects\n',
      percent: 100.4,
      bytes: null,
    };
    await beat({ bytes: 1.5, active: Array.from({ length: 30 }, () => hostile) });
    const { active } = (await progressOf()) as RunProgress;
    expect(active).toHaveLength(16);
    expect(active[0]).toMatchObject({ phase: 'Receiving [31mobjects', percent: 100, bytes: null });
    expect(active[0]?.repository).toMatch(/^acme\/.x+…$/u);
    expect(active[0]?.repository.length).toBe(255);
  });

  it('disappears once the run has ended', async () => {
    await beat({ bytes: 1, active: [cloning] });
    const ending = { id: run, status: 'completed', errorMessage: '', failedRequests: [] } as const;
    await finishRun(database.db, { ...ending, counters });
    expect(await stored()).toEqual({ progress: null });
    expect(await beat({ bytes: 2, active: [] })).toBe(false);
    expect(await stored()).toEqual({ progress: null });
  });

  it('disappears once the run is considered dead', async () => {
    await beat({ bytes: 1, active: [cloning] });
    await sweepStaleRuns(database.db, { now: Date.now() + 120_000, staleAfterMs: 60_000 });
    expect(await stored()).toEqual({ progress: null });
  });

  it('disappears once another run has taken over', async () => {
    await beat({ bytes: 1, active: [cloning] });
    await sql(database.db, "UPDATE backup_runs SET heartbeat_at = now() - interval '1 hour'");
    expect(await startRun(database.db, { totalRepos: 1, staleAfterMs: 1 })).toHaveProperty('id');
    const rows = await sql(database.db, 'SELECT progress FROM backup_runs ORDER BY id');
    expect(rows).toEqual([{ progress: null }, { progress: null }]);
  });

  it('is not shown for a run that another program has ended', async () => {
    await beat({ bytes: 1, active: [cloning] });
    await sql(database.db, "UPDATE backup_runs SET status = 'failed'");
    expect(await progressOf()).toBeNull();
  });
});

describe('a result', () => {
  const result = {
    repository: 'acme/app',
    status: 'completed',
    commitHash: 'c0ffee',
    archiveSizeBytes: 1,
    durationMs: 1,
    errorMessage: '',
    archive: null,
    counters,
  } as const;

  it('says what its archive lacks, and how many attempts it took', async () => {
    const incomplete = 'LFS: 12 pointers, 3.4 GB are not in the archive';
    await recordResult(database.db, { ...result, runId: run, position: 0, incomplete, tries: 3 });
    const expected = { status: 'completed', incomplete, tries: 3 };
    expect(await get(`/api/backups/${run}`)).toMatchObject({ results: [expected] });
    expect(await get('/api/repos/acme/app/history')).toMatchObject({ data: [expected] });
  });

  it('may leave both out', async () => {
    await recordResult(database.db, { ...result, runId: run, position: 0 });
    const expected = { incomplete: null, tries: null };
    expect(await get('/api/repos/acme/app/history')).toMatchObject({ data: [expected] });
  });
});

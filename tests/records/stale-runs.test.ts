import { setImmediate } from 'node:timers/promises';
import type { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sweepStaleRuns } from '../../lib/records/runs/stale-runs.ts';
import { connect } from '../support/connection.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty, insertLog, insertResult, insertRun, sql } from '../support/records.ts';

const database = useDatabase();
let other: Client;

beforeAll(async () => {
  other = await connect(database.url);
});
afterAll(() => other.end());
beforeEach(() => empty(database.db));

const now = Date.parse('2026-03-01T12:00:00Z');
const staleAfterMs = 30 * 60_000;
const sweep = () => sweepStaleRuns(database.db, { now, staleAfterMs });
const old = { status: 'running', started_at: '2026-03-01T11:29:59.999Z' };
const recent = '2026-03-01T11:30:00Z';

describe('the latest sign of life of a running run is', () => {
  it('its start', async () => {
    const stale = await insertRun(database.db, old);
    await insertRun(database.db, { status: 'running', started_at: recent });
    expect(await sweep()).toEqual([stale]);
  });

  it('its heartbeat', async () => {
    const stale = await insertRun(database.db, { ...old, heartbeat_at: old.started_at });
    await insertRun(database.db, { ...old, heartbeat_at: recent });
    expect(await sweep()).toEqual([stale]);
  });

  it('its newest log', async () => {
    const [stale, alive] = [await insertRun(database.db, old), await insertRun(database.db, old)];
    await insertLog(database.db, { run_id: stale, created_at: '2026-03-01T11:00:00Z' });
    await insertLog(database.db, { run_id: alive, created_at: recent });
    await insertLog(database.db, { created_at: recent });
    expect(await sweep()).toEqual([stale]);
  });

  it('its newest result', async () => {
    const [stale, alive] = [await insertRun(database.db, old), await insertRun(database.db, old)];
    await insertResult(database.db, stale, 'a', { created_at: '2026-03-01T11:00:00Z' });
    await insertResult(database.db, alive, 'a', { created_at: recent });
    expect(await sweep()).toEqual([stale]);
  });
});

it('the requests that a stale run had claimed fail with it, but no others do', async () => {
  const stale = await insertRun(database.db, old);
  const alive = await insertRun(database.db, { status: 'running', started_at: recent });
  await other.query(
    `INSERT INTO backup_run_requests (status, run_id)
     VALUES ('claimed', $1), ('completed', $1), ('claimed', $2), ('pending', NULL)`,
    [stale, alive],
  );
  await sweep();
  const { rows } = await other.query('SELECT status FROM backup_run_requests ORDER BY id');
  expect(rows.map((row) => row.status)).toEqual(['failed', 'completed', 'claimed', 'pending']);
});

it('a sweep does not change a run that has ended', async () => {
  await insertRun(database.db, { ...old, status: 'completed' });
  await insertRun(database.db, { ...old, status: 'failed', error_message: 'its own reason' });
  expect(await sweep()).toEqual([]);
});

it('a start in the future does not give a negative duration', async () => {
  const id = await insertRun(database.db, {
    status: 'running',
    started_at: '2026-03-01T13:00:00Z',
  });
  expect(await sweepStaleRuns(database.db, { now, staleAfterMs: -7_200_000 })).toEqual([id]);
  const [row] = await sql<{ ms: string }>(
    database.db,
    'SELECT duration_ms::text AS ms FROM backup_runs',
  );
  expect(row?.ms).toBe('0');
});

it('a run without a start time does not keep the others from being swept', async () => {
  const ids = [
    await insertRun(database.db, { status: 'running', started_at: '-infinity' }),
    await insertRun(database.db, old),
  ];
  expect(await sweep()).toEqual(ids);
});

it('concurrent sweeps fail each run once', async () => {
  const ids: number[] = [];
  for (let n = 0; n < 20; n++) ids.push(await insertRun(database.db, old));
  const swept = await Promise.all([sweep(), sweep(), sweep(), sweep()]);
  expect(swept.flat().sort((a, b) => a - b)).toEqual(ids);
});

describe('a sweep that waits for another transaction on the run', () => {
  /** Starts a sweep while the other connection holds the run, and continues once the sweep is waiting for it. */
  async function sweepDuring(change: string): Promise<number[]> {
    const id = await insertRun(database.db, old);
    await other.query('BEGIN');
    await other.query(`UPDATE backup_runs SET ${change} WHERE id = ${id}`);
    const swept = sweep();
    const blocked = 'SELECT FROM pg_locks WHERE NOT granted AND pid <> pg_backend_pid()';
    while ((await other.query(blocked)).rowCount === 0) await setImmediate();
    await other.query('COMMIT');
    return swept;
  }

  it('keeps the run if that recorded a heartbeat', async () => {
    expect(await sweepDuring(`heartbeat_at = '${recent}'`)).toEqual([]);
  });

  it('keeps the outcome if that ended the run', async () => {
    expect(await sweepDuring("status = 'completed'")).toEqual([]);
    expect(await sql(database.db, 'SELECT status FROM backup_runs')).toEqual([
      { status: 'completed' },
    ]);
  });

  it('fails the run if that recorded no sign of life', async () => {
    expect(await sweepDuring('skipped = 1')).toHaveLength(1);
  });
});

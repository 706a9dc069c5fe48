import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { hashingModel } from '../../lib/search/embedders/hashing.ts';
import { enqueueNewSources } from '../../lib/search/enqueue-new-sources.ts';
import { activateGeneration, startGeneration } from '../../lib/search/generations.ts';
import { connect } from '../support/connection.ts';

import { createBatches, createPostgresWithVectors, listChunks } from '../support/embeddings.ts';
import { insertLog, insertResult, insertRun, sql } from '../support/records.ts';
import { insertAnswer, useSearchDatabase } from '../support/search.ts';

// New records get jobs in the active generation, on a Postgres whose transactions commit out of order.

const database = useSearchDatabase(createPostgresWithVectors);
let db: Database;
beforeAll(() => {
  db = database.db;
});

async function activateNew(): Promise<void> {
  const { id } = await startGeneration(db, hashingModel);
  await createBatches(db).process({ generationId: id });
  await activateGeneration(db, id);
}

const jobs = async () =>
  (
    await sql<{ job: string }>(
      db,
      `SELECT source_type || ' ' || source_id AS job FROM embedding_jobs ORDER BY id`,
    )
  ).map(({ job }) => job);

/** Starts a transaction that inserts a log and stays open. */
async function beginInsert(message: string) {
  const client = await connect(database.url);
  await client.query('BEGIN');
  await client.query('INSERT INTO execution_logs (message) VALUES ($1)', [message]);
  return {
    async commit() {
      await client.query('COMMIT');
      await client.end();
    },
  };
}

describe('records added after a generation', () => {
  it('get one job each', async () => {
    await insertLog(db, { message: 'before' });
    await activateNew();
    expect(await enqueueNewSources(db)).toBe(0);
    await insertLog(db, { message: 'after' });
    await insertResult(db, await insertRun(db), 'owner/name');
    await insertAnswer(db, 'ada', 'why?', 'because');
    expect(await enqueueNewSources(db)).toBe(3);
    expect(await enqueueNewSources(db)).toBe(0);
    expect((await jobs()).sort()).toEqual([
      'backup_result 1',
      'execution_log 1',
      'execution_log 2',
      'investigation 2',
    ]);
    await createBatches(db).process();
    expect(await listChunks(db)).toHaveLength(4);
  });

  it('go to the active one while another is built, and to that one once it is active', async () => {
    await insertLog(db, { message: 'first' });
    await activateNew();
    const { id } = await startGeneration(db, hashingModel);
    await insertLog(db, { message: 'second' });
    expect(await enqueueNewSources(db)).toBe(1);
    await createBatches(db).process({ generationId: id });
    await activateGeneration(db, id);
    expect(await enqueueNewSources(db)).toBe(1);
    const ofGeneration = await sql(
      db,
      `SELECT generation_id AS id, count(*)::int AS jobs FROM embedding_jobs GROUP BY 1 ORDER BY 1`,
    );
    expect(ofGeneration).toEqual([
      { id: 1, jobs: 2 },
      { id: 2, jobs: 2 },
    ]);
  });

  it('are ignored without an active generation', async () => {
    await startGeneration(db, hashingModel);
    await insertLog(db);
    expect(await enqueueNewSources(db)).toBe(0);
  });
});

describe('a record that is committed late', () => {
  it('is not missed if its transaction began before the generation', async () => {
    const late = await beginInsert('late');
    await insertLog(db, { message: 'early' });
    await activateNew();
    expect(await enqueueNewSources(db)).toBe(0);
    await late.commit();
    expect(await enqueueNewSources(db)).toBe(1);
    expect(await jobs()).toEqual(['execution_log 2', 'execution_log 1']);
    expect(await enqueueNewSources(db)).toBe(0);
  });

  it('is not missed below ids that were already seen, however many sweeps later', async () => {
    await activateNew();
    const late = await beginInsert('late');
    for (let look = 0; look < 3; look++) {
      await insertLog(db, { message: `early ${look}` });
      expect(await enqueueNewSources(db)).toBe(1);
    }
    await late.commit();
    expect(await enqueueNewSources(db)).toBe(1);
    expect((await jobs()).sort()).toEqual([
      'execution_log 1',
      'execution_log 2',
      'execution_log 3',
      'execution_log 4',
    ]);
  });
});

describe('enqueueNewSources after ids restart', () => {
  const fill = async () => {
    await sql(db, 'INSERT INTO execution_logs (message) SELECT n FROM generate_series(1, 9) AS n');
    await activateNew();
    // As if no other transaction of the server had been open.
    await sql(db, 'UPDATE embedding_watermarks SET settled_id = seen_id');
  };

  it('enqueues records added after TRUNCATE', async () => {
    await fill();
    await sql(db, 'TRUNCATE execution_logs RESTART IDENTITY');
    await insertLog(db);
    await insertLog(db);
    expect(await enqueueNewSources(db)).toBe(2);
    expect(await jobs()).toEqual(['execution_log 1', 'execution_log 2']);
    expect(await enqueueNewSources(db)).toBe(0);
  });

  it('enqueues records added after TRUNCATE of a table without embedded records', async () => {
    await fill();
    await sql(db, 'DELETE FROM execution_logs');
    await sql(db, 'TRUNCATE execution_logs RESTART IDENTITY');
    await sql(db, 'INSERT INTO execution_logs (message) SELECT n FROM generate_series(1, 9) AS n');
    expect(await enqueueNewSources(db)).toBe(9);
  });

  it('enqueues the other records of a restore', async () => {
    await fill();
    await sql(db, 'DELETE FROM execution_logs');
    await insertLog(db, { id: 4 });
    expect(await enqueueNewSources(db)).toBe(1);
    await insertLog(db, { id: 5 });
    expect(await enqueueNewSources(db)).toBe(1);
  });

  it('does not treat ids as settled if they restart during a sweep', async () => {
    await fill();
    await insertLog(db);
    const truncating: Database = {
      ...db,
      async query(statement, values, options) {
        const isEnqueued = statement.name === 'enqueue_new_execution_log';
        const rows = await db.query<never>(statement, values, options);
        if (isEnqueued) await sql(db, 'TRUNCATE execution_logs RESTART IDENTITY');
        return rows;
      },
    };
    expect(await enqueueNewSources(truncating)).toBe(1);
    await insertLog(db);
    expect(await enqueueNewSources(db)).toBe(1);
  });
});

it('enqueueNewSources needs only one statement for a single record with a huge id', async () => {
  await activateNew();
  await sql(db, 'UPDATE embedding_watermarks SET settled_id = 0');
  await insertLog(db, { id: 900_000_000_000 });
  const sent: string[] = [];
  const recording: Database = {
    ...db,
    query(statement, values, options) {
      sent.push(statement.name ?? '');
      return db.query(statement, values, options);
    },
  };
  expect(await enqueueNewSources(recording)).toBe(1);
  expect(sent.filter((name) => name === 'enqueue_new_execution_log')).toHaveLength(1);
});

it('enqueueNewSources does not scan settled ids again', async () => {
  await sql(db, 'INSERT INTO execution_logs (message) SELECT n FROM generate_series(1, 50) AS n');
  await activateNew();
  await insertLog(db);
  await enqueueNewSources(db);
  await insertLog(db);
  // Transactions of other databases of this server count too, and may be open for a moment.
  await vi.waitFor(
    async () => {
      await enqueueNewSources(db);
      const [mark] = await sql<{ settled: number; seen: number }>(
        db,
        `SELECT settled_id::int AS settled, seen_id::int AS seen FROM embedding_watermarks
       WHERE source_type = 'execution_log'`,
      );
      expect(mark?.seen).toBe(52);
      expect(mark?.settled).toBeGreaterThanOrEqual(51);
    },
    { timeout: 120_000, interval: 100 },
  );
});

it('enqueueNewSources scans more ids than fit one statement in several', async () => {
  await activateNew();
  await insertLog(db, { id: 150_000 });
  await insertLog(db, { id: 450_001 });
  expect(await enqueueNewSources(db)).toBe(2);
});

it('enqueueNewSources creates each job once when sweeps run concurrently', async () => {
  await activateNew();
  await sql(db, 'INSERT INTO execution_logs (message) SELECT n FROM generate_series(1, 2000) AS n');
  const made = await Promise.all(Array.from({ length: 4 }, () => enqueueNewSources(db)));
  expect(made.reduce((sum, count) => sum + count)).toBe(2_000);
  expect(new Set(await jobs()).size).toBe(2_000);
});

it('enqueueNewSources creates jobs in the order of ids, so that two sweeps cannot deadlock', async () => {
  await activateNew();
  await sql(
    db,
    'INSERT INTO execution_logs (id, message) SELECT n, n FROM generate_series(2000, 1, -1) AS n',
  );
  const other = await connect(database.url);
  const make = (id: number) =>
    other.query(
      `INSERT INTO embedding_jobs (generation_id, source_type, source_id)
       SELECT id, 'execution_log', $1 FROM embedding_generations WHERE status = 'ACTIVE'`,
      [String(id)],
    );
  await other.query('BEGIN');
  await make(1);
  const swept = enqueueNewSources(db);
  await vi.waitFor(async () =>
    expect(
      await sql(db, `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'`),
    ).toHaveLength(1),
  );
  await make(2_000);
  await other.query('COMMIT');
  await other.end();
  expect(await swept).toBe(1_998);
});

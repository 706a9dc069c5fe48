import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import {
  claimJobs,
  LEASE_MS,
  releaseJobs,
  storeOutcomes,
} from '../../lib/search/embedding-jobs.ts';
import { connect } from '../support/connection.ts';
import {
  countJobs,
  createBatches,
  createGatedEmbedder,
  createPostgresWithVectors,
  listChunks,
  startBuiltIn,
} from '../support/embeddings.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty, insertLog, sql } from '../support/records.ts';
import { forgetGenerations } from '../support/search.ts';

// Embedding jobs on a real Postgres with many connections.

const database = useDatabase(createPostgresWithVectors);
let db: Database;
const START = Date.parse('2026-03-04T05:06:00Z');

beforeAll(async () => {
  db = database.db;
});
beforeEach(async () => {
  await empty(db);
  await forgetGenerations(db);
});

const insertLogs = (count: number) =>
  sql(
    db,
    `INSERT INTO execution_logs (message) SELECT 'log ' || n FROM generate_series(1, ${count}) n`,
  );
const claim = (holder: string, limit: number, now = START) =>
  claimJobs(db, { generationId: 1, limit, lease: { holder, now } });
const sources = (jobs: { source_id: string }[]) => jobs.map(({ source_id }) => Number(source_id));

/** The database; after its first statement, another transaction releases its locks on jobs. */
async function lockUntilTried(): Promise<Database> {
  const other = await connect(database.url);
  await other.query('BEGIN; SELECT FROM embedding_jobs FOR UPDATE');
  let isLocked = true;
  return {
    ...db,
    async query(...statement) {
      const rows = await db.query(...statement);
      if (isLocked) {
        isLocked = false;
        await other.query('ROLLBACK');
        await other.end();
      }
      return rows as never;
    },
  };
}

describe("jobs briefly locked by another caller's claim", () => {
  it('are stored once they are unlocked', async () => {
    await insertLogs(2);
    await startBuiltIn(db);
    const outcomes = (await claim('a', 2)).map((job) => ({ job, chunks: [], metadata: '{}' }));
    expect(await storeOutcomes(await lockUntilTried(), 'a', outcomes)).toEqual({
      succeeded: 2,
      failed: 0,
    });
    expect(await countJobs(db)).toEqual({ completed: 2 });
  });

  it('are released once they are unlocked', async () => {
    await insertLogs(2);
    await startBuiltIn(db);
    const jobs = await claim('a', 2);
    await releaseJobs(await lockUntilTried(), 'a', jobs);
    expect(await countJobs(db)).toEqual({ pending: 2 });
  });
});

describe('concurrent callers', () => {
  it('process every job exactly once', async () => {
    await insertLogs(1_000);
    await startBuiltIn(db);
    const asked: string[] = [];
    const callers = Array.from({ length: 4 }, () => {
      const gated = createGatedEmbedder();
      gated.open();
      const batches = createBatches(db, {
        embedder: {
          ...gated,
          embed: (texts) => {
            asked.push(...texts);
            return gated.embed(texts);
          },
        },
      });
      return batches.process({ batchSize: 20 });
    });
    const reports = await Promise.all(callers);
    const done = reports.map(({ succeeded }) => succeeded);
    expect(done.reduce((sum, count) => sum + count)).toBe(1_000);
    expect(asked).toHaveLength(1_000);
    expect(new Set(asked).size).toBe(1_000);
    expect(await countJobs(db)).toEqual({ completed: 1_000 });
    expect(await listChunks(db)).toHaveLength(1_000);
  });

  it('get different jobs at the same time', async () => {
    await insertLogs(10);
    await startBuiltIn(db);
    const claims = await Promise.all(['a', 'b', 'c', 'd'].map((holder) => claim(holder, 3)));
    expect(claims.flatMap(sources).sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  it('skip a job that another caller is claiming', async () => {
    await insertLogs(2);
    await startBuiltIn(db);
    const other = await connect(database.url);
    await other.query('BEGIN; SELECT FROM embedding_jobs WHERE id = 1 FOR UPDATE');
    try {
      expect(sources(await claim('a', 10))).toEqual([2]);
    } finally {
      await other.query('ROLLBACK');
      await other.end();
    }
  });
});

describe('a lease', () => {
  it('protects a job for 5 minutes, after which it can be claimed again', async () => {
    await insertLogs(1);
    await startBuiltIn(db);
    expect(sources(await claim('a', 1))).toEqual([1]);
    expect(await countJobs(db)).toEqual({ processing: 1 });
    expect(await claim('b', 1, START + LEASE_MS - 1)).toEqual([]);
    expect(sources(await claim('b', 1, START + LEASE_MS))).toEqual([1]);
  });

  it('stores nothing after it has expired, whoever finishes first', async () => {
    await insertLogs(1);
    await startBuiltIn(db);
    const vector = Float32Array.of(1, 0);
    const outcome = (jobs: Awaited<ReturnType<typeof claim>>, content: string) =>
      jobs.map((job) => ({ job, metadata: '{}', chunks: [{ index: 0, content, vector }] }));
    const slow = await claim('slow', 1);
    const quick = await claim('quick', 1, START + LEASE_MS);
    const nothing = { succeeded: 0, failed: 0 };
    expect(await storeOutcomes(db, 'slow', outcome(slow, 'slow'))).toEqual(nothing);
    expect(await storeOutcomes(db, 'quick', outcome(quick, 'quick'))).toEqual({
      succeeded: 1,
      failed: 0,
    });
    expect(await storeOutcomes(db, 'slow', outcome(slow, 'slow'))).toEqual(nothing);
    expect(
      await storeOutcomes(
        db,
        'slow',
        slow.map((job) => ({ job, error: 'too late' })),
      ),
    ).toEqual(nothing);
    expect(await listChunks(db)).toEqual(['execution_log 1: quick']);
    expect(await countJobs(db)).toEqual({ completed: 1 });
  });

  it('is not released by another holder', async () => {
    await insertLogs(1);
    await startBuiltIn(db);
    const slow = await claim('slow', 1);
    await claim('quick', 1, START + LEASE_MS);
    await releaseJobs(db, 'slow', slow);
    expect(await countJobs(db)).toEqual({ processing: 1 });
    await releaseJobs(db, 'quick', slow);
    expect(sources(await claim('next', 1, START + LEASE_MS))).toEqual([1]);
  });

  it('expires when its batch is killed, and nothing is lost or processed twice', async () => {
    await insertLogs(30);
    await startBuiltIn(db);
    const { process, clock } = createBatches(db);
    await process({ batchSize: 10, maxBatches: 1 });
    // Killed after claiming, so its work is lost.
    await claim('killed', 10, clock.now());
    expect(await process()).toMatchObject({ succeeded: 10, generation_status: 'BUILDING' });
    clock.advance(LEASE_MS);
    expect(await process()).toMatchObject({ succeeded: 10, generation_status: 'READY' });
    expect(await listChunks(db)).toHaveLength(30);
  });
});

describe('a source that changes while its job is processed', () => {
  it.each([
    ['is deleted', 'DELETE FROM execution_logs', []],
    ['is overwritten', "UPDATE execution_logs SET message = 'new'", ['execution_log 1: new']],
  ])('%s, and its old text is not stored', async (_what, change, left) => {
    await insertLog(db, { message: 'old' });
    await startBuiltIn(db);
    const embedder = createGatedEmbedder();
    const processing = createBatches(db, { embedder }).process({ maxBatches: 1 });
    await expect.poll(() => embedder.asked).toHaveLength(1);
    await sql(db, change);
    embedder.open();
    expect(await processing).toMatchObject({ succeeded: 0 });
    expect(await listChunks(db)).toEqual([]);
    await createBatches(db).process();
    expect(await listChunks(db)).toEqual(left);
  });

  it('does not deadlock with the batch if a transaction deletes many others', async () => {
    await insertLogs(2);
    await startBuiltIn(db);
    const jobs = await claim('a', 2);
    const other = await connect(database.url);
    try {
      await other.query('BEGIN; DELETE FROM execution_logs WHERE id = 2');
      const vector = Float32Array.of(1, 0);
      const stored = storeOutcomes(
        db,
        'a',
        jobs.map((job) => ({ job, metadata: '{}', chunks: [{ index: 0, content: 'x', vector }] })),
      );
      expect(await stored).toEqual({ succeeded: 1, failed: 0 });
      await releaseJobs(db, 'a', jobs);
      await other.query('DELETE FROM execution_logs WHERE id = 1; COMMIT');
    } finally {
      await other.end();
    }
    expect(await countJobs(db)).toEqual({});
    expect(await listChunks(db)).toEqual([]);
  });

  it('has its job completed without a chunk if it was deleted before the job was claimed', async () => {
    await sql(
      db,
      `INSERT INTO embedding_generations (model_id, dimensions) VALUES ('local/hashing-384', 384)`,
    );
    await sql(
      db,
      `INSERT INTO embedding_jobs (generation_id, source_type, source_id) VALUES (1, 'execution_log', '77')`,
    );
    expect(await createBatches(db).process()).toMatchObject({
      succeeded: 1,
      generation_status: 'READY',
    });
    expect(await listChunks(db)).toEqual([]);
  });
});

it('claimJobs finds open jobs by their index, however many are completed', async () => {
  await insertLogs(5_000);
  await startBuiltIn(db);
  await sql(db, "UPDATE embedding_jobs SET status = 'completed' WHERE id <= 4900");
  await sql(db, 'ANALYZE embedding_jobs');
  const sent: string[] = [];
  const recording: Database = {
    ...db,
    query: (statement, values, options) => {
      sent.push(statement.text);
      return db.query(statement, values, options);
    },
  };
  await claimJobs(recording, { generationId: 1, limit: 5, lease: { holder: 'a', now: START } });
  const client = await connect(database.url);
  await client.query(`PREPARE claim AS ${sent[0]}`);
  const { rows } = await client.query(
    `EXPLAIN EXECUTE claim (1, 5, 'b', '2026-03-04T05:06:00Z', '2026-03-04T05:11:00Z')`,
  );
  await client.end();
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).toContain('Index Scan using embedding_jobs_open');
  expect(plan).not.toContain('Seq Scan on embedding_jobs');
});

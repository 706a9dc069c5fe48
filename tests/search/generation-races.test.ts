import { beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { AppError } from '../../lib/errors.ts';
import { hashingEmbedder } from '../../lib/search/embedders/embedder.ts';
import { hashingModel } from '../../lib/search/embedders/hashing.ts';
import {
  activateGeneration,
  pruneGenerations,
  startGeneration,
} from '../../lib/search/generations.ts';
import { connect } from '../support/connection.ts';
import { createNeon } from '../support/databases.ts';
import { createBatches, createPostgresWithVectors, startBuiltIn } from '../support/embeddings.ts';
import { insertLog, sql } from '../support/records.ts';
import { useSearchDatabase } from '../support/search.ts';

// At most one generation is BUILDING and one ACTIVE, even with concurrent callers.

const database = useSearchDatabase(createPostgresWithVectors);
let db: Database;
beforeAll(() => {
  db = database.db;
});

const states = async () =>
  (
    await sql<{ status: string }>(db, 'SELECT status FROM embedding_generations ORDER BY status')
  ).map(({ status }) => status);
const insertReady = (count: number) =>
  sql(
    db,
    `INSERT INTO embedding_generations (model_id, dimensions, status)
     SELECT 'm', 3, 'READY' FROM generate_series(1, ${count})`,
  );
const codes = (settled: PromiseSettledResult<unknown>[]) =>
  settled.map((one) =>
    one.status === 'rejected' && one.reason instanceof AppError ? one.reason.code : one.status,
  );

it('one of several concurrent starts succeeds, and the others get CONFLICT', async () => {
  await insertLog(db);
  const started = await Promise.allSettled(
    Array.from({ length: 6 }, () => startGeneration(db, hashingModel)),
  );
  expect(codes(started).sort()).toEqual([...Array(5).fill('CONFLICT'), 'fulfilled']);
  expect(await states()).toEqual(['BUILDING']);
  expect(await sql(db, 'SELECT DISTINCT generation_id AS id FROM embedding_jobs')).toHaveLength(1);
});

it('concurrent activations all succeed, and the last one wins', async () => {
  await insertReady(4);
  const activated = await Promise.allSettled([1, 2, 3, 4].map((id) => activateGeneration(db, id)));
  expect(codes(activated)).toEqual(Array(4).fill('fulfilled'));
  expect(await states()).toEqual(['ACTIVE', 'RETIRED', 'RETIRED', 'RETIRED']);
});

it('exactly one generation is ACTIVE at any moment', async () => {
  await insertReady(2);
  await activateGeneration(db, 1);
  let isDone = false;
  const seen = new Set<number>();
  const watching = (async () => {
    while (!isDone) {
      const [row] = await sql<{ count: number }>(
        db,
        "SELECT count(*)::int AS count FROM embedding_generations WHERE status = 'ACTIVE'",
      );
      seen.add(row?.count ?? -1);
    }
  })();
  for (let n = 0; n < 20; n++) {
    await activateGeneration(db, 2 - (n % 2));
    await sql(db, "UPDATE embedding_generations SET status = 'READY' WHERE status = 'RETIRED'");
  }
  isDone = true;
  await watching;
  expect([...seen]).toEqual([1]);
});

it('the database rejects a second BUILDING or ACTIVE generation, whoever writes it', async () => {
  for (const status of ['BUILDING', 'ACTIVE']) {
    const insert = `INSERT INTO embedding_generations (model_id, dimensions, status) VALUES ('m', 3, '${status}')`;
    await sql(db, insert);
    await expect(sql(db, insert)).rejects.toMatchObject({ code: '23505' });
  }
});

it('a batch that is running when its generation is pruned stores nothing', async () => {
  await insertLog(db, { message: 'a log' });
  await startBuiltIn(db);
  const gate = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const working = createBatches(db, {
    embedder: {
      ...hashingEmbedder,
      async embed(texts) {
        asked.resolve();
        await gate.promise;
        return hashingEmbedder.embed(texts);
      },
    },
  }).process({ maxBatches: 1 });
  await asked.promise;
  await sql(db, "UPDATE embedding_generations SET status = 'FAILED'");
  expect(await pruneGenerations(db)).toEqual({ deleted_generations: 1, deleted_jobs: 1 });
  gate.resolve();
  await expect(working).rejects.toMatchObject({ code: 'BAD_REQUEST' });
  expect(await sql(db, 'SELECT id FROM embedding_chunks')).toEqual([]);
});

it('a batch that is storing when its generation is pruned leaves nothing behind', async () => {
  await insertLog(db);
  await startBuiltIn(db);
  await sql(db, "UPDATE embedding_generations SET status = 'RETIRED'");
  const batch = await connect(database.url);
  try {
    await batch.query(`BEGIN;
      UPDATE embedding_jobs SET status = 'completed';
      INSERT INTO embedding_chunks
        (generation_id, source_type, source_id, chunk_index, content, source_created_at)
      VALUES (1, 'execution_log', '1', 0, 'late', now())`);
    const pruning = pruneGenerations(db);
    const waiting = "SELECT FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'";
    await expect.poll(() => sql(db, waiting)).toHaveLength(1);
    await batch.query('COMMIT');
    expect(await pruning).toEqual({ deleted_generations: 1, deleted_jobs: 1 });
  } finally {
    await batch.end();
  }
  expect(await sql(db, 'SELECT id FROM embedding_chunks')).toEqual([]);
});

describe('an embedding generation over Neon’s HTTP driver', () => {
  it('goes through its whole life cycle', async () => {
    const neon = await createNeon();
    try {
      await sql(neon.db, 'CREATE DOMAIN vector AS text');
      await sql(neon.db, 'ALTER TABLE embedding_chunks ADD COLUMN embedding vector');
      await insertLog(neon.db, { message: 'a log' });
      expect(await startBuiltIn(neon.db)).toBe(1);
      expect(await createBatches(neon.db).process()).toEqual({
        processed: 1,
        succeeded: 1,
        failed: 0,
        batches: 1,
        generation_status: 'READY',
      });
      expect(await activateGeneration(neon.db, 1)).toEqual([]);
      expect(await pruneGenerations(neon.db)).toEqual({ deleted_generations: 0, deleted_jobs: 0 });
    } finally {
      await neon.close();
    }
  });
});

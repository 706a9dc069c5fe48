import { beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { AppError } from '../../lib/errors.ts';
import type { Embedder } from '../../lib/search/embedders/embedder.ts';
import { embedByHashing } from '../../lib/search/embedders/hashing.ts';
import { activateGeneration, startGeneration } from '../../lib/search/generations.ts';
import { vectorExpression } from '../../lib/search/vector-index.ts';
import { explainMissingVectors, requireVectors } from '../../lib/search/vector-storage.ts';
import { connect } from '../support/connection.ts';
import { createEmbedded, createPostgres } from '../support/databases.ts';
import { createBatches, createPostgresWithVectors, startBuiltIn } from '../support/embeddings.ts';
import { insertLog, sql } from '../support/records.ts';
import { useSearchDatabase } from '../support/search.ts';

const database = useSearchDatabase(createEmbedded);
let db: Database;
beforeAll(() => {
  db = database.db;
});

/** An embedder of any number of dimensions. */
const embedderOf = (dimensions: number): Embedder => ({
  dimensions,
  batchSize: 10,
  embed: async (texts) =>
    texts.map((text) => {
      const vector = new Float32Array(dimensions);
      vector[text.length % dimensions] = 1;
      return vector;
    }),
});

const indexes = async () =>
  (
    await sql<{ indexdef: string }>(
      db,
      "SELECT indexdef FROM pg_indexes WHERE indexname LIKE 'embedding_chunks_hnsw%' ORDER BY indexname",
    )
  ).map(({ indexdef }) => indexdef.replace(/^.* USING /, ''));

describe('a complete generation', () => {
  it.each([
    [384, ['hnsw (((embedding)::vector(384)) vector_cosine_ops) WHERE (generation_id = 1)']],
    [2_000, ['hnsw (((embedding)::vector(2000)) vector_cosine_ops) WHERE (generation_id = 1)']],
    [2_001, ['hnsw (((embedding)::halfvec(2001)) halfvec_cosine_ops) WHERE (generation_id = 1)']],
    [4_000, ['hnsw (((embedding)::halfvec(4000)) halfvec_cosine_ops) WHERE (generation_id = 1)']],
    [4_001, []],
  ])('gets its own partial index with %i dimensions', async (dimensions, expected) => {
    await insertLog(db, { message: 'a log' });
    await startGeneration(db, { id: 'm', dimensions });
    const { process } = createBatches(db, { embedder: embedderOf(dimensions) });
    expect(await process({ maxBatches: 1 })).toMatchObject({ generation_status: 'READY' });
    expect(await indexes()).toEqual(expected);
  });

  it('has no index when it is empty', async () => {
    await startBuiltIn(db);
    expect(await createBatches(db).process()).toMatchObject({ generation_status: 'READY' });
    expect(await indexes()).toEqual([]);
  });

  it('gets its missing index at the next process-batch', async () => {
    await insertLog(db, { message: 'a log' });
    await startBuiltIn(db);
    await createBatches(db).process();
    await sql(db, 'DROP INDEX embedding_chunks_hnsw_1');
    await activateGeneration(db, 1);
    await createBatches(db).process();
    expect(await indexes()).toHaveLength(1);
  });

  it('can be searched by its index', async () => {
    await insertLog(db, { message: 'a log' });
    await startBuiltIn(db);
    await createBatches(db).process();
    const vector = `'[${embedByHashing('log').join(',')}]'`;
    // As a search does: the planner would rather sort so few rows.
    const client = await connect(database.url);
    await client.query('SET enable_sort = off');
    const { rows } = await client.query(
      `EXPLAIN SELECT id FROM embedding_chunks WHERE generation_id = 1
       ORDER BY ${vectorExpression(384)} <=> ${vector}::vector(384) LIMIT 10`,
    );
    await client.end();
    expect(rows.map((row) => row['QUERY PLAN']).join()).toContain('embedding_chunks_hnsw_1');
  });

  it("updates the planner's statistics", async () => {
    await sql(
      db,
      "INSERT INTO execution_logs (message) SELECT 'log ' || n FROM generate_series(1, 300) AS n",
    );
    await startBuiltIn(db);
    await createBatches(db).process({ batchSize: 300 });
    const [row] = await sql<{ rows: number }>(
      db,
      "SELECT reltuples::int AS rows FROM pg_class WHERE oid = 'embedding_chunks'::regclass",
    );
    expect(row?.rows).toBe(300);
  });

  it('can coexist with one of other dimensions', async () => {
    await insertLog(db, { message: 'a log' });
    await startBuiltIn(db);
    await createBatches(db).process();
    await startGeneration(db, { id: 'm', dimensions: 3 });
    await createBatches(db, { embedder: embedderOf(3) }).process({ generationId: 2 });
    expect(await indexes()).toHaveLength(2);
  });
});

describe('the index of a generation', () => {
  it('is built when the last job is done', async () => {
    const postgres = await createPostgresWithVectors();
    const sent: string[] = [];
    const recording: Database = {
      ...postgres.db,
      query: (statement, values, options) => {
        sent.push(statement.text);
        return postgres.db.query(statement, values, options);
      },
    };
    const isMade = () => sent.some((text) => text.includes('CREATE INDEX'));
    try {
      await insertLog(postgres.db, { message: 'one' });
      await insertLog(postgres.db, { message: 'two' });
      await startBuiltIn(postgres.db);
      const { process } = createBatches(recording);
      await process({ batchSize: 1, maxBatches: 1 });
      expect(isMade()).toBe(false);
      await process({ batchSize: 1, maxBatches: 1 });
      expect(isMade()).toBe(true);
    } finally {
      await postgres.close();
    }
  });

  it('is built before the first job in the embedded database, which building it at the end would block', async () => {
    await insertLog(db, { message: 'one' });
    await insertLog(db, { message: 'two' });
    await startBuiltIn(db);
    await createBatches(db).process({ batchSize: 1, maxBatches: 1 });
    expect(await indexes()).toHaveLength(1);
  });
});

describe('an index that cannot be built', () => {
  it('is logged, and the generation is READY: searches compare every vector', async () => {
    const postgres = await createPostgresWithVectors();
    try {
      await insertLog(postgres.db, { message: 'a log' });
      await startBuiltIn(postgres.db);
      const logged: string[] = [];
      const log = { error: (message: string) => logged.push(message) } as never;
      const report = await createBatches(postgres.db, { log }).process();
      expect(report).toMatchObject({ succeeded: 1, generation_status: 'READY' });
      expect(logged).toEqual(['could not build the index of an embedding generation']);
    } finally {
      await postgres.close();
    }
  });
});

describe('a database without the vector extension', () => {
  it('reports why it cannot store vectors', async () => {
    const postgres = await createPostgres();
    try {
      const reason = 'the vector extension is not installed on this database server';
      expect(await explainMissingVectors(postgres.db)).toBe(reason);
      const refusal = requireVectors(postgres.db);
      await expect(refusal).rejects.toThrow(AppError);
      await expect(refusal).rejects.toMatchObject({
        code: 'SERVICE_UNAVAILABLE',
        message: `embeddings are not available: ${reason}`,
      });
    } finally {
      await postgres.close();
    }
  });

  it('can store vectors once the extension is installed', async () => {
    await sql(db, 'DROP EXTENSION vector CASCADE');
    const [before] = await sql<{ column: boolean }>(db, hasColumn);
    expect(before?.column).toBe(false);
    expect(await explainMissingVectors(db)).toBeNull();
    const [after] = await sql<{ column: boolean }>(db, hasColumn);
    expect(after?.column).toBe(true);
  });
});

const hasColumn = `SELECT EXISTS (
  SELECT FROM pg_attribute WHERE attrelid = 'embedding_chunks'::regclass
    AND attname = 'embedding' AND NOT attisdropped) AS column`;

import type { Database } from '../../lib/database/database.ts';
import { type Embedder, hashingEmbedder } from '../../lib/search/embedders/embedder.ts';
import { hashingModel } from '../../lib/search/embedders/hashing.ts';
import { startGeneration } from '../../lib/search/generations.ts';
import {
  type BatchDeps,
  type BatchReport,
  type BatchRequest,
  processBatches,
} from '../../lib/search/process-batch.ts';
import { createRedactor } from '../../lib/security/redaction/redactor.ts';
import { createTestClock, type TestClock } from './clock.ts';
import { createPostgres, silentLog, type TestDatabase } from './databases.ts';
import { sql } from './records.ts';

/**
 * A real Postgres with a stand-in for pgvector's type, which the packaged Postgres lacks: vectors are stored as texts.
 * Everything but comparing them works as it ships, over many connections.
 */
export async function createPostgresWithVectors(): Promise<TestDatabase> {
  const database = await createPostgres();
  await sql(database.db, 'CREATE DOMAIN vector AS text');
  await sql(database.db, 'ALTER TABLE embedding_chunks ADD COLUMN embedding vector');
  return database;
}

/** process-batch as it ships, except for its embedder and clock. */
export function createBatches(
  db: Database,
  { embedder = hashingEmbedder, clock = createTestClock(), ...rest }: BatchOptions = {},
) {
  const deps: BatchDeps = {
    db,
    clock,
    log: silentLog,
    redactor: createRedactor([]),
    openEmbedder: async () => embedder,
    ...rest,
  };
  return {
    clock,
    /** Processes everything that is left, unless `request` says otherwise. */
    process: (request: Partial<BatchRequest> = {}): Promise<BatchReport> =>
      processBatches(deps, {
        generationId: 1,
        batchSize: 50,
        maxBatches: 50,
        budgetMs: 25_000,
        ...request,
      }),
  };
}

interface BatchOptions extends Partial<BatchDeps> {
  embedder?: Embedder;
  clock?: TestClock;
}

/** Starts a generation of the built-in model and returns how many jobs it has. */
export async function startBuiltIn(db: Database): Promise<number> {
  return (await startGeneration(db, hashingModel)).jobs;
}

/** An embedder that records each text, and embeds it once the gate is open. */
export function createGatedEmbedder(): Embedder & { asked: string[]; open(): void } {
  const gate = Promise.withResolvers<void>();
  const asked: string[] = [];
  return {
    ...hashingEmbedder,
    asked,
    open: () => gate.resolve(),
    async embed(texts) {
      asked.push(...texts);
      await gate.promise;
      return hashingEmbedder.embed(texts);
    },
  };
}

/** Jobs by status: `{completed: 3}`. */
export async function countJobs(db: Database): Promise<Record<string, number>> {
  const rows = await sql<{ status: string; jobs: number }>(
    db,
    'SELECT status, count(*)::int AS jobs FROM embedding_jobs GROUP BY 1 ORDER BY 1',
  );
  return Object.fromEntries(rows.map(({ status, jobs }) => [status, jobs]));
}

/** What is stored, as `execution_log 1: text`. */
export async function listChunks(db: Database): Promise<string[]> {
  const rows = await sql<{ chunk: string }>(
    db,
    `SELECT source_type || ' ' || source_id || ': ' || content AS chunk FROM embedding_chunks
     ORDER BY source_type, source_id::bigint, chunk_index`,
  );
  return rows.map(({ chunk }) => chunk);
}

import type { Database } from '../platform/database/database.ts';

/** A generation as its index needs it. */
export interface IndexedGeneration {
  id: number;
  dimensions: number;
  /** In the embedded database, which has all of its memory in the process of the server? */
  is_embedded: boolean;
}

/** pgvector indexes a `vector` up to this many dimensions, and a `halfvec` up to twice as many. */
const LONGEST_INDEXED_VECTOR = 2_000;
const LONGEST_INDEXED_HALFVEC = 4_000;

/** Any number that nothing else in the database locks. */
const LOCK_KEY = 1_677_203;
/** The graph of millions of vectors takes its time. The server goes on when the caller is gone. */
const BUILD_TIMEOUT_MS = 60 * 60_000;
const MIB = 1024 * 1024;

/**
 * A generation's vectors as they are compared: `embedding::vector(384)`, a `halfvec` above 2,000
 * dimensions. A query that is to use the index orders by this `<=>` the query's vector of the same type,
 * where `generation_id` equals the generation's id as a literal. (decisions 5)
 */
export function vectorExpression(dimensions: number): string {
  return `embedding::${vectorType(dimensions)}`;
}

/** The type of a generation's vectors: `vector(384)`, or `halfvec(3072)` above 2,000 dimensions. */
export function vectorType(dimensions: number): string {
  const isHalved = dimensions > LONGEST_INDEXED_VECTOR && isIndexed(dimensions);
  return `${isHalved ? 'halfvec' : 'vector'}(${dimensions})`;
}

/** Have a generation's vectors an index? Above 4,000 dimensions every vector is compared. */
export function isIndexed(dimensions: number): boolean {
  return dimensions <= LONGEST_INDEXED_HALFVEC;
}

/** The name of a generation's HNSW index. */
export function indexName(generationId: number): string {
  return `embedding_chunks_hnsw_${generationId}`;
}

/**
 * Builds the HNSW index of a generation that is complete, unless it is there or somebody else is building
 * it. One statement: the index is there whole or not at all. Searches go on meanwhile, writers of chunks
 * wait. Returns whether it is there now. Throws what the database says when it cannot be built.
 */
export async function buildVectorIndex(
  db: Database,
  generation: IndexedGeneration,
  chunkCount: number,
): Promise<boolean> {
  const { id, dimensions } = generation;
  const name = indexName(id);
  const operators = vectorType(dimensions).startsWith('halfvec')
    ? 'halfvec_cosine_ops'
    : 'vector_cosine_ops';
  const create = `CREATE INDEX ${name} ON embedding_chunks
    USING hnsw ((${vectorExpression(dimensions)}) ${operators}) WHERE generation_id = ${id}`;
  await db.query(
    {
      text: `DO $do$ BEGIN
        IF NOT pg_try_advisory_xact_lock(${LOCK_KEY}, ${id})
          OR to_regclass('${name}') IS NOT NULL THEN
          RETURN;
        END IF;
        PERFORM set_config('maintenance_work_mem', '${memoryToBuild(generation, chunkCount)}', true);
        BEGIN
          ${create};
        EXCEPTION WHEN out_of_memory OR disk_full OR insufficient_resources THEN
          -- Parallel workers need shared memory, of which containers have little.
          PERFORM set_config('max_parallel_maintenance_workers', '0', true);
          ${create};
        END;
        -- The planner knows nothing of the new rows yet, and would sort them in place of using it.
        ANALYZE embedding_chunks;
      END $do$`,
    },
    [],
    { timeoutMs: BUILD_TIMEOUT_MS },
  );
  const [row] = await db.query<{ exists: boolean }>({
    text: `SELECT to_regclass('${name}') IS NOT NULL AS exists`,
  });
  return row?.exists ?? false;
}

/** Drops the indexes of generations that are not there any more. */
export async function dropIndexesOfNobody(db: Database): Promise<void> {
  await db.query({
    text: `DO $do$ DECLARE
        left_over regclass;
      BEGIN
        FOR left_over IN
          SELECT indexrelid::regclass FROM pg_index
          JOIN pg_class AS relation ON relation.oid = indexrelid
          WHERE indrelid = 'embedding_chunks'::regclass
            AND relname ~ '^embedding_chunks_hnsw_[0-9]+$'
            AND NOT EXISTS (
              SELECT FROM embedding_generations WHERE relname = 'embedding_chunks_hnsw_' || id
            )
        LOOP
          EXECUTE format('DROP INDEX IF EXISTS %s', left_over);
        END LOOP;
      END $do$`,
  });
}

/** Tells the planner of chunks that came into an index that was there before them. */
export async function analyzeChunks(db: Database): Promise<void> {
  await db.query({ text: 'ANALYZE embedding_chunks' }, [], { timeoutMs: BUILD_TIMEOUT_MS });
}

/**
 * Memory in which the whole graph has room, as a setting of Postgres. Without it the rest is inserted one
 * by one, several times slower.
 */
function memoryToBuild({ dimensions, is_embedded }: IndexedGeneration, chunkCount: number): string {
  const bytesOfVector = dimensions * 4 + 1_200;
  const most = is_embedded ? 256 : 1_024;
  const needed = Math.ceil((chunkCount * bytesOfVector * 1.2) / MIB);
  return `${Math.min(most, Math.max(64, needed))}MB`;
}

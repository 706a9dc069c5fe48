import type { Database } from '../database/database.ts';

/** The properties of a generation that its index depends on. */
export interface IndexedGeneration {
  id: number;
  dimensions: number;
  /** It is in the embedded database, which shares the server's memory. */
  is_embedded: boolean;
}

/** The limits of pgvector's indexes on `vector` and `halfvec`. */
const MAX_VECTOR_DIMENSIONS = 2_000;
const MAX_HALFVEC_DIMENSIONS = 4_000;

/** Arbitrary; must only differ from other advisory locks. */
const LOCK_KEY = 1_677_203;
/** Building the graph of millions of vectors takes long. */
const BUILD_TIMEOUT_MS = 60 * 60_000;
const MIB = 1024 * 1024;

/**
 * The indexed expression of a generation's vectors, such as `embedding::vector(384)`. To use the index, a
 * query must order by this `<=>` a vector of the same type, and compare `generation_id` with a literal.
 */
export function vectorExpression(dimensions: number): string {
  return `embedding::${vectorType(dimensions)}`;
}

/** The type of a generation's vectors: `vector(384)`, or `halfvec(3072)` above 2,000 dimensions. */
function vectorType(dimensions: number): string {
  const isHalved = dimensions > MAX_VECTOR_DIMENSIONS && isIndexed(dimensions);
  return `${isHalved ? 'halfvec' : 'vector'}(${dimensions})`;
}

/** Whether vectors of these dimensions can be indexed. Otherwise searches compare every vector. */
export function isIndexed(dimensions: number): boolean {
  return dimensions <= MAX_HALFVEC_DIMENSIONS;
}

/** The name of a generation's HNSW index. */
export function indexName(generationId: number): string {
  return `embedding_chunks_hnsw_${generationId}`;
}

/**
 * Builds the HNSW index of a complete generation, unless it exists or is being built by another caller.
 * Atomic. Blocks writers of chunks, but not searches. Returns whether the index exists now. Throws the
 * database's error when it cannot be built.
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
          -- Parallel workers need shared memory, which is scarce in containers.
          PERFORM set_config('max_parallel_maintenance_workers', '0', true);
          ${create};
        END;
        -- Without fresh statistics the planner would sort the new rows instead of using the index.
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

/** Drops the indexes of deleted generations. */
export async function dropOrphanedIndexes(db: Database): Promise<void> {
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

/** Updates the planner's statistics after chunks were added to an existing index. */
export async function analyzeChunks(db: Database): Promise<void> {
  await db.query({ text: 'ANALYZE embedding_chunks' }, [], { timeoutMs: BUILD_TIMEOUT_MS });
}

/**
 * The `maintenance_work_mem` that holds the whole graph. With less, building is several times slower.
 */
function memoryToBuild({ dimensions, is_embedded }: IndexedGeneration, chunkCount: number): string {
  const bytesOfVector = dimensions * 4 + 1_200;
  const max = is_embedded ? 256 : 1_024;
  const needed = Math.ceil((chunkCount * bytesOfVector * 1.2) / MIB);
  return `${Math.min(max, Math.max(64, needed))}MB`;
}

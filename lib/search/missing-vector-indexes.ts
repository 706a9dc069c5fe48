import type { Database } from '../database/database.ts';
import { readGeneration } from './generations.ts';
import { buildVectorIndex, isIndexed } from './vector-index.ts';

/** A complete generation with its number of chunks. */
interface CompleteGeneration {
  id: number;
  chunks: number;
}

/**
 * Builds the missing vector indexes of READY and ACTIVE generations, for example after copying a database,
 * and returns how many were built. Throws the database's error when one cannot be built.
 */
export async function buildMissingIndexes(db: Database): Promise<number> {
  const complete = await db.query<CompleteGeneration>({
    text: `SELECT generation.id, count(*)::int AS chunks
      FROM embedding_generations AS generation
      JOIN embedding_chunks AS chunk ON chunk.generation_id = generation.id
      WHERE generation.status IN ('READY', 'ACTIVE') GROUP BY 1 ORDER BY 1`,
  });
  let built = 0;
  for (const { id, chunks } of complete) {
    const generation = await readGeneration(db, id);
    if (!generation || generation.has_index || !isIndexed(generation.dimensions)) continue;
    if (await buildVectorIndex(db, generation, chunks)) built++;
  }
  return built;
}

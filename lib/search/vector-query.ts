import { MAX_CANDIDATES, sourceTypesParameter as types } from './query-parameters.ts';

/** The minimum share of the query's trigrams that a chunk must contain, to exclude hash collisions. */
const MIN_SHARED_TRIGRAMS = 0.2;

/** SQL for the share of the query's trigrams that the embedded text of a chunk contains. */
const sharedSpelling = `(
  SELECT avg((position(piece IN spelt) > 0)::int)
  FROM (
    SELECT lower(concat_ws(' ', metadata->>'repository', metadata->>'level', content)) AS spelt
    FROM embedding_chunks WHERE id = chunk_id OFFSET 0
  ) AS chunk, unnest($11::text[]) AS piece)`;

/** SQL for the chunks nearest to the query's vector, from the generation in the CTE `active`. */
export const nearestChunks = `SELECT chunk_id, similarity
    FROM active, LATERAL search_vectors(active.id, active.dimensions, $2::text, ${types}, ${MAX_CANDIDATES})
    WHERE (SELECT take_part FROM vectors_usable) AND similarity >= $9::float8
      AND ($11::text[] IS NULL OR ${sharedSpelling} >= ${MIN_SHARED_TRIGRAMS})`;

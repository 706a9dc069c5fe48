/** Candidates per list. Lower ranks add next to nothing to a fused score. */
export const MAX_CANDIDATES = 100;

/** SQL for the source types, the fourth parameter of the search statement (hybrid-query.ts). */
export const sourceTypesParameter = `$4::text[]`;

/** Full text is used when it has weight, and whenever vectors cannot be used. */
const textsTakePart = `($5::float8 > 0 OR NOT (SELECT take_part FROM vectors_usable))`;

/** The searched lists, smallest first: each may use half of the remaining time, the last one all of it. */
const lists = ['backup_fix', 'investigation', 'backup_result', 'chunk', 'execution_log'] as const;
/** The share of the time for rows with all words; the rest is for rows with most of them. */
export const SHARE_OF_ALL_WORDS = 0.75;

/**
 * SQL for the full-text candidates of each list, by a database function (drizzle/functions/search.sql). A row
 * without source_id means that the search was cut short.
 */
export function fullTextCandidates(find: string, share: number): string {
  const end = `statement_timestamp() + $12::float8 * ${share} * interval '1 ms'`;
  return lists
    .map((list, index) => {
      const parts = index === lists.length - 1 ? 1 : 2;
      const until = `clock_timestamp() + (${end} - clock_timestamp()) / ${parts}`;
      const found = (generation: string, owner: string) =>
        `${find}('${list}', $1::jsonb, ${generation}, ${owner}, ${MAX_CANDIDATES}, $7::int, ${until})`;
      if (list !== 'chunk') {
        return `SELECT '${list}' AS source_type, row_id AS source_id, tier, rank, NULL::bigint AS chunk_id
          FROM ${found('NULL', '$8::text')}
          WHERE '${list}' = ANY (${sourceTypesParameter}) AND ${textsTakePart}`;
      }
      return `SELECT chunk.source_type, chunk.source_id::bigint, tier, rank, chunk.id
        FROM active, LATERAL ${found('active.id', 'NULL')}
        LEFT JOIN embedding_chunks AS chunk ON chunk.id = row_id
        WHERE ${textsTakePart} AND (row_id IS NULL OR chunk.source_type = ANY (${sourceTypesParameter}))`;
    })
    .join('\n    UNION ALL\n    ');
}

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
    FROM active, LATERAL search_vectors(active.id, active.dimensions, $2::text, ${sourceTypesParameter}, ${MAX_CANDIDATES})
    WHERE (SELECT take_part FROM vectors_usable) AND similarity >= $9::float8
      AND ($11::text[] IS NULL OR ${sharedSpelling} >= ${MIN_SHARED_TRIGRAMS})`;

import { MAX_CANDIDATES, sourceTypesParameter as types } from './query-parameters.ts';

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
          WHERE '${list}' = ANY (${types}) AND ${textsTakePart}`;
      }
      return `SELECT chunk.source_type, chunk.source_id::bigint, tier, rank, chunk.id
        FROM active, LATERAL ${found('active.id', 'NULL')}
        LEFT JOIN embedding_chunks AS chunk ON chunk.id = row_id
        WHERE ${textsTakePart} AND (row_id IS NULL OR chunk.source_type = ANY (${types}))`;
    })
    .join('\n    UNION ALL\n    ');
}

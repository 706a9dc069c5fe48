import type { Database, Statement } from '../database/database.ts';
import { iso } from '../records/base/page.ts';
import type { QueryVector, VectorModel } from './embed-query.ts';
import { hashingModel } from './embedders/hashing.ts';
import { type QueryTerm, wantedText } from './parse-query.ts';
import type { SourceType } from './source-types.ts';
import { trigramsOf } from './trigrams.ts';

export interface SourceQuery {
  alternatives: readonly (readonly QueryTerm[])[];
  /** Null for full text only. */
  vector: QueryVector | null;
  sourceTypes: readonly SourceType[];
  ftsWeight: number;
  semanticWeight: number;
  limit: number;
  investigationsOf: string | null;
  /** The full-text time budget in milliseconds. */
  budgetMs: number;
}

/** A found source with its current content. */
export interface FoundSource {
  id: number;
  source_type: SourceType;
  source_id: string;
  content: string;
  score: number;
  metadata: Record<string, unknown>;
}

export interface FoundSources {
  /** Best first. */
  sources: FoundSource[];
  /** The model of the ACTIVE generation; null when there is none. */
  active: VectorModel | null;
  /** Whether the database can store vectors. */
  hasVectorColumn: boolean;
  /** The generation whose vectors were used; null when none were. */
  generationId: number | null;
  /** Full text ran out of time before it had searched all rows. */
  isCut: boolean;
}

/** The minimum similarity of a match with the built-in lexical model. */
const MIN_LEXICAL_SIMILARITY = 0.15;
/** The minimum share of the query's trigrams that a chunk must contain, to exclude hash collisions. */
const MIN_SHARED_TRIGRAMS = 0.2;
/** Candidates per list. Lower ranks add next to nothing to a fused score. */
const MAX_CANDIDATES = 100;
/** The share of the time for rows with all words; the rest is for rows with most of them. */
const SHARE_OF_ALL_WORDS = 0.75;
/** The constant of reciprocal rank fusion. */
const RRF_K = 60;
/** Longer contents are cut to this many characters. */
const MAX_CONTENT_LENGTH = 4_000;
/** Longer than any search takes, even on a busy machine or a sleeping database. */
const MARGIN_MS = 5_000;

// The statement is put together from the parts below. Its parameters: $1 alternatives, $2 vector, $3 its model, $4 source
// types, $5 and $6 weights of full text and vectors, $7 limit, $8 owner of investigations, $9 minimum similarity, $10
// dimensions, $11 trigrams of the query (NULL unless the model is lexical), $12 time budget of full text in milliseconds.

/** Full text is used when it has weight, and whenever vectors cannot be used. */
const textsTakePart = `($5::float8 > 0 OR NOT (SELECT take_part FROM vectors_usable))`;

/** The searched lists, smallest first: each may use half of the remaining time, the last one all of it. */
const lists = ['backup_fix', 'investigation', 'backup_result', 'chunk', 'execution_log'] as const;

/**
 * SQL for the full-text candidates of each list, by a database function (drizzle/functions/search.sql).
 * A row without source_id means that the search was cut short.
 */
function fullTextCandidates(find: string, share: number): string {
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
          WHERE '${list}' = ANY ($4::text[]) AND ${textsTakePart}`;
      }
      return `SELECT chunk.source_type, chunk.source_id::bigint, tier, rank, chunk.id
        FROM active, LATERAL ${found('active.id', 'NULL')}
        LEFT JOIN embedding_chunks AS chunk ON chunk.id = row_id
        WHERE ${textsTakePart} AND (row_id IS NULL OR chunk.source_type = ANY ($4::text[]))`;
    })
    .join('\n    UNION ALL\n    ');
}

/** SQL for the share of the query's trigrams that the embedded text of a chunk contains. */
const sharedSpelling = `(
  SELECT avg((position(piece IN spelt) > 0)::int)
  FROM (
    SELECT lower(concat_ws(' ', metadata->>'repository', metadata->>'level', content)) AS spelt
    FROM embedding_chunks WHERE id = chunk_id OFFSET 0
  ) AS chunk, unnest($11::text[]) AS piece)`;

/** SQL for the chunks nearest to the query's vector, from the generation in the CTE `active`. */
const nearestChunks = `SELECT chunk_id, similarity
    FROM active, LATERAL search_vectors(active.id, active.dimensions, $2::text, $4::text[], ${MAX_CANDIDATES})
    WHERE (SELECT take_part FROM vectors_usable) AND similarity >= $9::float8
      AND ($11::text[] IS NULL OR ${sharedSpelling} >= ${MIN_SHARED_TRIGRAMS})`;

/** SQL for the creation time of a candidate's source; NULL when it no longer exists or belongs to another user. */
const createdAt = `
  CASE source_type
    WHEN 'execution_log' THEN (SELECT created_at FROM execution_logs WHERE id = source_id)
    WHEN 'backup_result' THEN (SELECT created_at FROM backup_results WHERE id = source_id)
    WHEN 'backup_fix' THEN (SELECT created_at FROM backup_fixes WHERE id = source_id)
    WHEN 'investigation' THEN (
      SELECT created_at FROM chat_messages
      WHERE id = source_id AND role = 'assistant' AND status = 'completed'
        AND ($8::text IS NULL OR username = $8::text))
  END`;

/** SQL for the content and metadata shown. For a long answer, shows the passage that matched. */
const shown = `
  CASE source_type
    WHEN 'execution_log' THEN (
      SELECT json_build_object('content', left(message, ${MAX_CONTENT_LENGTH}), 'metadata', json_build_object(
        'repository', coalesce(repository, ''), 'level', level, 'run_id', run_id,
        'created_at', ${iso('created_at')}))
      FROM execution_logs WHERE id = source_id)
    WHEN 'backup_result' THEN (
      SELECT json_build_object('content', left(concat_ws(E'\\n',
          concat_ws(' ', repo_full_name, status, nullif(commit_hash, '')), nullif(error_message, '')
        ), ${MAX_CONTENT_LENGTH}), 'metadata', json_build_object(
        'repository', repo_full_name, 'status', status, 'run_id', run_id,
        'commit_hash', coalesce(commit_hash, ''), 'created_at', ${iso('created_at')}))
      FROM backup_results WHERE id = source_id)
    WHEN 'backup_fix' THEN (
      SELECT json_build_object('content', left(concat_ws(E'\\n', title, nullif(description, '')), ${MAX_CONTENT_LENGTH}),
        'metadata', json_build_object('title', title, 'author', coalesce(author, ''),
        'commit_hash', coalesce(commit_hash, ''), 'created_at', ${iso('created_at')}))
      FROM backup_fixes WHERE id = source_id)
    WHEN 'investigation' THEN (
      SELECT json_build_object('content', left(coalesce(
          (SELECT chunk.content FROM embedding_chunks AS chunk WHERE chunk.id = chunk_id), message.content
        ), ${MAX_CONTENT_LENGTH}), 'metadata', json_build_object(
        'session_id', session_id, 'created_at', ${iso('created_at')}))
      FROM chat_messages AS message WHERE message.id = source_id)
  END`;

const statement: Statement = {
  name: 'search',
  text: `
  WITH active AS MATERIALIZED (
    SELECT id, model_id, dimensions FROM embedding_generations WHERE status = 'ACTIVE'
  ), vector_column AS MATERIALIZED (
    SELECT EXISTS (
      SELECT FROM pg_attribute
      WHERE attrelid = 'embedding_chunks'::regclass AND attname = 'embedding' AND NOT attisdropped
    ) AS there
  ), vectors_usable AS MATERIALIZED (
    SELECT $6::float8 > 0 AND $2::text IS NOT NULL AND (SELECT there FROM vector_column)
      AND EXISTS (
        SELECT FROM active WHERE model_id = $3::text AND dimensions = $10::int
      ) AS take_part
  ), near AS MATERIALIZED (
    ${nearestChunks}
  ), all_words AS MATERIALIZED (
    ${fullTextCandidates('search_full_text', SHARE_OF_ALL_WORDS)}
  ), texts AS MATERIALIZED (
    SELECT * FROM all_words
    UNION ALL
    SELECT * FROM (
    ${fullTextCandidates('search_most_words', 1)}
    ) AS most_words
    WHERE (SELECT count(DISTINCT (source_type, source_id)) FROM all_words WHERE source_id IS NOT NULL) < $7::int
  ), best_text AS (
    SELECT DISTINCT ON (source_type, source_id) source_type, source_id, tier, rank, chunk_id FROM texts
    WHERE source_id IS NOT NULL
    ORDER BY source_type, source_id, tier, rank DESC, chunk_id NULLS LAST
  ), best_near AS (
    SELECT DISTINCT ON (chunk.source_type, chunk.source_id)
      chunk.source_type, chunk.source_id::bigint AS source_id, similarity, chunk_id
    FROM near JOIN embedding_chunks AS chunk ON chunk.id = chunk_id
    WHERE chunk.source_type = ANY ($4::text[])
    ORDER BY chunk.source_type, chunk.source_id, similarity DESC, chunk_id
  ), found AS MATERIALIZED (
    SELECT source_type, source_id, tier, rank, similarity,
      coalesce(best_near.chunk_id, best_text.chunk_id) AS chunk_id, ${createdAt} AS created_at
    FROM best_text FULL JOIN best_near USING (source_type, source_id)
  ), placed AS (
    SELECT *,
      row_number() OVER (ORDER BY tier, rank DESC, created_at DESC, source_id DESC) AS text_place,
      row_number() OVER (ORDER BY similarity DESC NULLS LAST, created_at DESC, source_id DESC) AS near_place
    FROM found WHERE created_at IS NOT NULL
  ), scored AS (
    SELECT source_type, source_id, chunk_id, created_at, tier > 3 IS TRUE AS is_partial,
      -- With weight 0, full text is only used because vectors cannot be.
      CASE WHEN tier IS NULL THEN 0
           ELSE (CASE WHEN $5::float8 > 0 THEN $5::float8 ELSE 1 END) / (${RRF_K} + text_place + CASE WHEN tier > 3 THEN ${MAX_CANDIDATES} ELSE 0 END) END
      + CASE WHEN similarity IS NULL THEN 0 ELSE $6::float8 / (${RRF_K} + near_place) END AS score,
      tier
    FROM placed
  ), fused AS (
    SELECT source_type, source_id, chunk_id, created_at, is_partial,
      -- Partial matches rank below full ones, whatever their similarity.
      CASE WHEN is_partial THEN least(score, min(score) FILTER (WHERE tier <= 3) OVER ()) ELSE score END AS score
    FROM scored
    ORDER BY score DESC, is_partial, created_at DESC, source_id DESC, source_type LIMIT $7::int
  )
  SELECT (SELECT json_agg(json_build_object(
      'id', source_id, 'source_type', source_type, 'source_id', source_id::text, 'score', score, 'shown', ${shown}
    ) ORDER BY score DESC, is_partial, created_at DESC, source_id DESC, source_type)::text FROM fused) AS found,
    (SELECT json_build_object('id', id, 'model_id', model_id, 'dimensions', dimensions)::text FROM active) AS active,
    (SELECT there FROM vector_column) AS has_vectors,
    (SELECT take_part FROM vectors_usable) AS took_part,
    EXISTS (SELECT FROM texts WHERE source_id IS NULL) AS is_cut`,
};

/** Postgres rejects numbers closer to 0, such as 5e-324. Only 0 means no weight. */
const MIN_WEIGHT = 1e-300;

function asFloat(weight: number): number {
  return weight > 0 ? Math.max(weight, MIN_WEIGHT) : weight;
}

interface Row {
  found: string | null;
  active: string | null;
  has_vectors: boolean;
  took_part: boolean;
  is_cut: boolean;
}

/**
 * Finds sources in one statement: the candidates of full text and vectors, fused by weighted reciprocal rank,
 * one entry per source, newest first among equals. Database functions (drizzle/functions/search.sql) bound
 * the time and size of each list; the timeout is only a safety net.
 */
export async function findSources(db: Database, query: SourceQuery): Promise<FoundSources> {
  const { vector } = query;
  const isLexical = vector?.model.id === hashingModel.id;
  const [row] = await db.query<Row>(
    statement,
    [
      JSON.stringify(query.alternatives),
      vector === null ? null : `[${vector.values.join(',')}]`,
      vector?.model.id ?? null,
      [...query.sourceTypes],
      asFloat(query.ftsWeight),
      asFloat(query.semanticWeight),
      query.limit,
      query.investigationsOf,
      isLexical ? MIN_LEXICAL_SIMILARITY : -1,
      vector?.model.dimensions ?? null,
      isLexical ? trigramsOf(wantedText(query.alternatives)) : null,
      query.budgetMs,
    ],
    { timeoutMs: query.budgetMs + MARGIN_MS, budgetMs: query.budgetMs },
  );
  if (!row) throw new Error('the search returned no row');
  const found: (Omit<FoundSource, 'content' | 'metadata'> & {
    shown: Pick<FoundSource, 'content' | 'metadata'>;
  })[] = JSON.parse(row.found ?? '[]');
  const active: { id: number; model_id: string; dimensions: number } | null = JSON.parse(
    row.active ?? 'null',
  );
  return {
    sources: found.map(({ shown, ...rest }) => ({ ...rest, ...shown })),
    active: active && { id: active.model_id, dimensions: active.dimensions },
    hasVectorColumn: row.has_vectors,
    generationId: row.took_part && active ? active.id : null,
    isCut: row.is_cut,
  };
}

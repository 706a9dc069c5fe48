import type { Database, Statement } from '../platform/database/database.ts';
import { iso } from '../records/page.ts';
import { hashingModel } from './embedders/hashing.ts';
import { type QueryTerm, wantedText } from './query.ts';
import type { QueryVector, VectorModel } from './query-vector.ts';
import type { SourceType } from './source-types.ts';
import { piecesOf } from './spelling.ts';

export interface SourceQuery {
  alternatives: readonly (readonly QueryTerm[])[];
  /** Null: full text alone. */
  vector: QueryVector | null;
  sourceTypes: readonly SourceType[];
  ftsWeight: number;
  semanticWeight: number;
  limit: number;
  investigationsOf: string | null;
}

/** One source that was found, as it is now. */
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
  /** The model of the ACTIVE generation, null when there is none. */
  active: VectorModel | null;
  /** Has the database a place for vectors? */
  hasVectorColumn: boolean;
  /** The generation whose vectors took part, null when none did. */
  generationId: number | null;
}

/** Candidates of each list; what lies further down adds next to nothing to a fused score. */
const CANDIDATES = 100;
/** The constant of reciprocal rank fusion. */
const RRF_K = 60;
/** Longer contents are cut: a result is to be read, its source is one request away. Characters. */
const LONGEST_CONTENT = 4_000;
/** A source that shares next to no spelling with the query is no hit of a lexical model. */
const LEAST_SIMILARITY_OF_SPELLING = 0.15;
/** Nor one that only seems to: two spellings can have the same place in a vector. Share of the pieces. */
const LEAST_SHARED_SPELLING = 0.2;

const types = `$4::text[]`;
/** Full text takes part when it has weight, and whenever vectors cannot (decisions 5, /search). */
const textsTakePart = `($5::float8 > 0 OR NOT (SELECT take_part FROM vectors_usable))`;

/** Candidates of full text in the live rows of one kind. */
const liveTexts = (type: SourceType) => `
  SELECT '${type}' AS source_type, row_id AS source_id, tier, rank, NULL::bigint AS chunk_id
  FROM search_full_text('${type}', $1::jsonb, NULL, $8::text, ${CANDIDATES}, $7::int)
  WHERE '${type}' = ANY (${types}) AND ${textsTakePart}`;

/** Share of the query's pieces that a chunk holds, in what of it was embedded. */
const sharedSpelling = `(
  SELECT avg((position(piece IN spelt) > 0)::int)
  FROM (
    SELECT lower(concat_ws(' ', metadata->>'repository', metadata->>'level', content)) AS spelt
    FROM embedding_chunks WHERE id = chunk_id OFFSET 0
  ) AS chunk, unnest($11::text[]) AS piece)`;

/** When the source of a candidate was made; NULL when it is gone, or another user's. */
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

/** What is shown of a source. Of a long answer the passage that was found. */
const shown = `
  CASE source_type
    WHEN 'execution_log' THEN (
      SELECT json_build_object('content', left(message, ${LONGEST_CONTENT}), 'metadata', json_build_object(
        'repository', coalesce(repository, ''), 'level', level, 'run_id', run_id,
        'created_at', ${iso('created_at')}))
      FROM execution_logs WHERE id = source_id)
    WHEN 'backup_result' THEN (
      SELECT json_build_object('content', left(concat_ws(E'\\n',
          concat_ws(' ', repo_full_name, status, nullif(commit_hash, '')), nullif(error_message, '')
        ), ${LONGEST_CONTENT}), 'metadata', json_build_object(
        'repository', repo_full_name, 'status', status, 'run_id', run_id,
        'commit_hash', coalesce(commit_hash, ''), 'created_at', ${iso('created_at')}))
      FROM backup_results WHERE id = source_id)
    WHEN 'backup_fix' THEN (
      SELECT json_build_object('content', left(concat_ws(E'\\n', title, nullif(description, '')), ${LONGEST_CONTENT}),
        'metadata', json_build_object('title', title, 'author', coalesce(author, ''),
        'commit_hash', coalesce(commit_hash, ''), 'created_at', ${iso('created_at')}))
      FROM backup_fixes WHERE id = source_id)
    WHEN 'investigation' THEN (
      SELECT json_build_object('content', left(coalesce(
          (SELECT chunk.content FROM embedding_chunks AS chunk WHERE chunk.id = chunk_id), message.content
        ), ${LONGEST_CONTENT}), 'metadata', json_build_object(
        'session_id', session_id, 'created_at', ${iso('created_at')}))
      FROM chat_messages AS message WHERE message.id = source_id)
  END`;

/**
 * $1 alternatives, $2 vector, $3 its model, $4 source types, $5 and $6 the weights of full text and of
 * vectors, $7 limit, $8 owner of investigations, $9 least similarity,
 * $10 dimensions, $11 what the query is spelt of, NULL for a model that knows more than spelling.
 */
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
    SELECT chunk_id, similarity
    FROM active, LATERAL search_vectors(active.id, active.dimensions, $2::text, ${types}, ${CANDIDATES})
    WHERE (SELECT take_part FROM vectors_usable) AND similarity >= $9::float8
      AND ($11::text[] IS NULL OR ${sharedSpelling} >= ${LEAST_SHARED_SPELLING})
  ), texts AS MATERIALIZED (
    ${(['execution_log', 'backup_result', 'investigation', 'backup_fix'] as const).map(liveTexts).join(' UNION ALL ')}
    UNION ALL
    SELECT chunk.source_type, chunk.source_id::bigint, tier, rank, chunk.id
    FROM active, LATERAL search_full_text('chunk', $1::jsonb, active.id, NULL, ${CANDIDATES}, $7::int)
    JOIN embedding_chunks AS chunk ON chunk.id = row_id
    WHERE ${textsTakePart} AND chunk.source_type = ANY (${types})
  ), best_text AS (
    SELECT DISTINCT ON (source_type, source_id) source_type, source_id, tier, rank, chunk_id FROM texts
    ORDER BY source_type, source_id, tier, rank DESC, chunk_id NULLS LAST
  ), best_near AS (
    SELECT DISTINCT ON (chunk.source_type, chunk.source_id)
      chunk.source_type, chunk.source_id::bigint AS source_id, similarity, chunk_id
    FROM near JOIN embedding_chunks AS chunk ON chunk.id = chunk_id
    WHERE chunk.source_type = ANY (${types})
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
  ), fused AS (
    SELECT source_type, source_id, chunk_id, created_at,
      -- Without weight full text is here only because vectors cannot be.
      CASE WHEN tier IS NULL THEN 0
           ELSE (CASE WHEN $5::float8 > 0 THEN $5::float8 ELSE 1 END) / (${RRF_K} + text_place) END
      + CASE WHEN similarity IS NULL THEN 0 ELSE $6::float8 / (${RRF_K} + near_place) END AS score
    FROM placed
    ORDER BY score DESC, created_at DESC, source_id DESC, source_type LIMIT $7::int
  )
  SELECT (SELECT json_agg(json_build_object(
      'id', source_id, 'source_type', source_type, 'source_id', source_id::text, 'score', score, 'shown', ${shown}
    ) ORDER BY score DESC, created_at DESC, source_id DESC, source_type)::text FROM fused) AS found,
    (SELECT json_build_object('id', id, 'model_id', model_id, 'dimensions', dimensions)::text FROM active) AS active,
    (SELECT there FROM vector_column) AS has_vectors,
    (SELECT take_part FROM vectors_usable) AS took_part`,
};

/** Postgres takes no number that is closer to 0, such as 5e-324, and 0 alone means without weight. */
const LEAST_WEIGHT = 1e-300;

function asFloat(weight: number): number {
  return weight > 0 ? Math.max(weight, LEAST_WEIGHT) : weight;
}

interface Row {
  found: string | null;
  active: string | null;
  has_vectors: boolean;
  took_part: boolean;
}

/**
 * Finds the sources of a query in one statement: at most 100 candidates of each list, fused by reciprocal
 * rank (k = 60) with two weights, one entry a source, newest first among equals. Each list is bounded in
 * time and size by functions of the database (0006_search.sql).
 */
export async function findSources(db: Database, query: SourceQuery): Promise<FoundSources> {
  const { vector } = query;
  const isLexical = vector?.model.id === hashingModel.id;
  const [row] = await db.query<Row>(statement, [
    JSON.stringify(query.alternatives),
    vector === null ? null : `[${vector.values.join(',')}]`,
    vector?.model.id ?? null,
    [...query.sourceTypes],
    asFloat(query.ftsWeight),
    asFloat(query.semanticWeight),
    query.limit,
    query.investigationsOf,
    isLexical ? LEAST_SIMILARITY_OF_SPELLING : -1,
    vector?.model.dimensions ?? null,
    isLexical ? piecesOf(wantedText(query.alternatives)) : null,
  ]);
  if (!row) throw new Error('the search answered no row');
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
  };
}

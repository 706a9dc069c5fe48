SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- The chunks of one generation nearest to a vector, at most `wanted`, of the given source types. Uses the
-- generation's index if there is one, else compares all vectors. Empty without the vector extension.
CREATE OR REPLACE FUNCTION search_vectors(
  generation integer, dimensions integer, target text, source_types text[], wanted integer
) RETURNS TABLE (chunk_id bigint, similarity double precision) LANGUAGE plpgsql STABLE ROWS 200
SET enable_sort = off SET jit = off SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
  kind text := CASE WHEN dimensions <= 2000 THEN format('vector(%s)', dimensions)
                    WHEN dimensions <= 4000 THEN format('halfvec(%s)', dimensions) ELSE format('vector(%s)', dimensions) END;
BEGIN
  IF NOT EXISTS (
    SELECT FROM pg_attribute
    WHERE attrelid = 'embedding_chunks'::regclass AND attname = 'embedding' AND NOT attisdropped
  ) THEN
    RETURN;
  END IF;
  -- Loads the extension, so that its settings are known.
  EXECUTE format('SELECT %L::%s', target, kind);
  PERFORM set_config('hnsw.ef_search', '200', true);
  -- With a filter, scan the index again until enough is found (since version 0.8).
  IF current_setting('hnsw.iterative_scan', true) IS NOT NULL THEN
    PERFORM set_config('hnsw.iterative_scan', 'strict_order', true);
  END IF;
  RETURN QUERY EXECUTE format(
    'SELECT id, 1 - (embedding::%1$s <=> %2$L::%1$s) FROM embedding_chunks
     WHERE generation_id = %3$s%4$s ORDER BY embedding::%1$s <=> %2$L::%1$s LIMIT %5$s',
    kind, target, generation,
    CASE WHEN source_types @> '{execution_log,backup_result,investigation}' THEN ''
         ELSE format(' AND source_type = ANY (%L)', source_types) END,
    wanted);
END $$;

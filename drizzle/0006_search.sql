-- Full text over live rows and chunks: one index entry per word, whatever the
-- configuration it is read with, and functions that find the newest rows of a query without ever
-- collecting all rows of a word that most of them contain.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);
--> statement-breakpoint
-- A text with what stands between the parts of a name as a letter, so that `owner/repo-name`,
-- `refs/heads/main` and `10.0.0.1` are one word each to the parser, and other marks as spaces. Each row that
-- is written goes through it: replace() takes a tenth of the time of translate(), which compares each
-- character with each of its marks.
CREATE OR REPLACE FUNCTION search_names(content text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT replace(replace(replace(
    replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
      regexp_replace(' ' || left(content, 32768) || ' ', E'[][<>(){}"\'`=,;&|!?*^$\t\n\r]+', ' ', 'g'),
      '/', 'ø'), '-', 'ø'), '_', 'ø'), '.', 'ø'), ':', 'ø'), '@', 'ø'), '#', 'ø'), '~', 'ø'), '%', 'ø'), '+', 'ø'), E'\\', 'ø'),
    'øø', 'ø'), 'ø ', ' '), ' ø', ' ');
END;
--> statement-breakpoint
-- The same text as words alone.
CREATE OR REPLACE FUNCTION search_parts(names text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT replace(names, 'ø', ' ');
END;
--> statement-breakpoint
-- What a row is found by: its names and words as they are (simple), the words inside names by their stems
-- (english), and the ranges of 2,048 and of 131,072 ids that it lies in, as words that nobody writes.
-- A query with such a word makes the index skip to that range.
CREATE OR REPLACE FUNCTION search_document_of_names(row_id bigint, names text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT to_tsvector('pg_catalog.simple', names
      || ' zfinez' || (row_id >> 11)::text || ' zcoarsez' || (row_id >> 17)::text)
    || to_tsvector('pg_catalog.english', search_parts(names));
END;
--> statement-breakpoint
-- Of a text. Two functions, so that its names are made once.
CREATE OR REPLACE FUNCTION search_document(row_id bigint, content text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT search_document_of_names(row_id, search_names(content));
END;
--> statement-breakpoint
-- The query for one word, name or phrase. How: exact; parts, which takes a name by the words in it;
-- prefix, which takes words by how they begin.
CREATE OR REPLACE FUNCTION search_term(content text, is_phrase boolean, how text) RETURNS tsquery
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  names text := search_names(content);
  stems tsquery := plainto_tsquery('pg_catalog.english', search_parts(names));
  exact tsquery;
BEGIN
  IF is_phrase THEN
    exact := phraseto_tsquery('pg_catalog.simple', names);
    stems := phraseto_tsquery('pg_catalog.english', search_parts(names));
    -- Of `timed out` english leaves one word, which is no phrase.
    IF how = 'exact' OR numnode(stems) < 2 THEN RETURN exact; END IF;
    RETURN exact || stems;
  END IF;
  IF how = 'prefix' THEN
    RETURN (
      SELECT coalesce(string_agg(quote_literal(word) || CASE WHEN length(trim(names)) > 2 THEN ':*' ELSE '' END, ' & '), '')
      FROM unnest(tsvector_to_array(to_tsvector('pg_catalog.simple', names))) AS word
    )::tsquery || (
      -- Only the end of what was typed can be missing.
      SELECT coalesce(string_agg(quote_literal(lexeme) || CASE
        WHEN is_last AND length(lexeme) > 2 THEN ':*' ELSE '' END, ' & '), '')
      FROM (
        SELECT lexeme, positions[cardinality(positions)] = max(positions[cardinality(positions)]) OVER () AS is_last
        FROM unnest(to_tsvector('pg_catalog.simple', search_parts(names)))
      ) AS part
    )::tsquery;
  ELSIF how = 'exact' AND position('ø' IN names) > 0 THEN
    RETURN plainto_tsquery('pg_catalog.simple', names);
  END IF;
  RETURN plainto_tsquery('pg_catalog.simple', names) || stems;
END $$;
--> statement-breakpoint
-- The query for what somebody typed, as lib/search/query.ts read it: alternatives, each a list of terms
-- {text, phrase, negated} that must all be met. A word that english leaves out counts only on its own. With
-- prefix the terms that are marked {absent} are taken for beginnings, and alternatives without one left out.
CREATE OR REPLACE FUNCTION search_query(alternatives jsonb, how text) RETURNS tsquery
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  terms jsonb;
  term jsonb;
  part tsquery;
  met tsquery;
  common tsquery;
  whole tsquery := '';
BEGIN
  FOR terms IN SELECT jsonb_array_elements(alternatives) LOOP
    CONTINUE WHEN how = 'prefix' AND NOT terms @> '[{"absent": true}]';
    met := '';
    common := '';
    FOR term IN SELECT jsonb_array_elements(terms) LOOP
      part := search_term(term->>'text', (term->>'phrase')::boolean,
        CASE WHEN how = 'prefix' AND NOT term @> '{"absent": true}' THEN 'parts' ELSE how END);
      IF numnode(part) = 0 THEN
        CONTINUE;
      ELSIF (term->>'negated')::boolean THEN
        met := met && !! part;
      ELSIF numnode(plainto_tsquery('pg_catalog.english', search_parts(search_names(term->>'text')))) = 0 THEN
        common := common && part;
      ELSE
        met := met && part;
      END IF;
    END LOOP;
    whole := whole || CASE WHEN numnode(met) > 0 THEN met ELSE common END;
  END LOOP;
  RETURN whole;
END $$;
--> statement-breakpoint
-- Ids of the newest rows of a relation that meet a query, at most `wanted` and none of `known`. Looks
-- through ranges of ids from the newest down, small ones first, each by the index alone: a word that half
-- of the rows contain fills the first range. What is seldom there is then looked for in all rows at once,
-- up to 20,000 of them; where there are more, so in old rows alone, range by range again, for 400 ms at most.
CREATE OR REPLACE FUNCTION search_newest(
  relation text, document text, condition text, query tsquery, wanted integer, known bigint[]
) RETURNS bigint[] LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET jit = off SET work_mem = '64MB'
SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
  started CONSTANT timestamptz := clock_timestamp();
  -- A phrase has to be looked for in each row that holds its words.
  has_phrase CONSTANT boolean := query::text ~ '<(-|[0-9]+)>';
  most CONSTANT integer := 20000;
  found bigint[] := '{}';
  more bigint[];
  anywhere bigint[] := '{}';
  newest bigint;
  oldest bigint;
  step integer := 0;
  word text;
  bits integer;
  ranges integer;
BEGIN
  EXECUTE format('SELECT max(id)::bigint FROM %s', relation) INTO newest;
  WHILE newest IS NOT NULL AND cardinality(found) < wanted
    AND (step < 5 OR clock_timestamp() - started < interval '400 ms') LOOP
    -- 1, 4, 16 and 64 fine ranges down to the border of a coarse one, then 1, 2, 4, 4 … coarse ones.
    IF step < 4 AND (newest & 131071) <> 131071 THEN
      word := 'zfinez';
      bits := 11;
      ranges := least(4 ^ step, ((newest & 131071) >> bits) + 1);
    ELSE
      step := greatest(step, 4);
      word := 'zcoarsez';
      bits := 17;
      ranges := least(2 ^ (step - 4), 4);
    END IF;
    step := step + 1;
    oldest := ((newest >> bits) - ranges + 1) << bits;
    -- By an expression, so that the planner does not walk the primary key and make a document of each row.
    EXECUTE format(
      'SELECT array(SELECT id::bigint FROM %s WHERE %s @@ $1 AND %s AND id <> ALL ($3)
         ORDER BY id + 0 DESC LIMIT $2)', relation, document, condition)
    INTO more USING
      query && (SELECT string_agg(word || number, ' | ')
                FROM generate_series(oldest >> bits, newest >> bits) AS number)::tsquery,
      wanted - cardinality(found), known || found;
    found := found || more;
    newest := oldest - 1;
    -- Ids may have holes as wide as they like.
    IF cardinality(more) = 0 THEN
      EXECUTE format('SELECT max(id)::bigint FROM %s WHERE id <= $1', relation) INTO newest USING newest;
    END IF;

    IF step = 5 AND newest IS NOT NULL AND cardinality(found) < wanted AND NOT has_phrase THEN
      EXECUTE format(
        'SELECT array(SELECT id::bigint FROM %s WHERE %s @@ $1 AND %s AND id <> ALL ($3) LIMIT $2)',
        relation, document, condition)
      INTO anywhere USING query, most, known || found;
      IF cardinality(anywhere) < most THEN newest := NULL; END IF;
    END IF;
  END LOOP;
  -- All of them, or some of the many, which are better than none.
  IF cardinality(found) < wanted THEN
    found := found || array(
      SELECT id FROM unnest(anywhere) AS id WHERE id <> ALL (found) ORDER BY id DESC
      LIMIT wanted - cardinality(found));
  END IF;
  RETURN found;
END $$;
--> statement-breakpoint
-- The same for a query of beginnings of words. The index would first collect every row of every word with
-- such a beginning, so the newest rows are looked at themselves: a beginning that is common is found there.
CREATE OR REPLACE FUNCTION search_beginnings(
  relation text, document text, condition text, query tsquery, alternatives jsonb, wanted integer,
  known bigint[]
) RETURNS bigint[] LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET jit = off SET work_mem = '64MB'
SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
  -- What each row holds, compared faster than a document is made: every absent word of the first
  -- alternative; of several, nothing.
  patterns CONSTANT text[] := array(
    SELECT '%' || word || '%' FROM jsonb_array_elements(alternatives->0) AS term,
      unnest(tsvector_to_array(to_tsvector('pg_catalog.simple', search_parts(search_names(term->>'text'))))) AS word
    WHERE jsonb_array_length(alternatives) = 1 AND term @> '{"absent": true}');
  found bigint[];
  newest bigint;
BEGIN
  EXECUTE format('SELECT max(id)::bigint FROM %s', relation) INTO newest;
  EXECUTE format(
    'SELECT array(SELECT id::bigint FROM %s WHERE id > $1 AND lower(%s) LIKE ALL ($5)
       AND (%s @@ $2) IS TRUE AND %s AND id <> ALL ($4) ORDER BY id DESC LIMIT $3)',
    relation, regexp_replace(document, '^search_document\(id, (.*)\)$', '\1'), document, condition)
  INTO found USING newest - 8192, query, wanted, known, patterns;
  IF cardinality(found) < least(wanted, 20) THEN
    EXECUTE format(
      'SELECT array(SELECT id FROM (
         SELECT id::bigint FROM %s WHERE %s @@ $1 AND %s AND id <> ALL ($3) LIMIT 5000
       ) AS met ORDER BY id DESC LIMIT $2)', relation, document, condition)
    INTO found USING query, wanted, known;
  END IF;
  RETURN found;
END $$;
--> statement-breakpoint
-- Candidates of full text in one source: the newest `wanted` rows that meet the query exactly (tier 1) and,
-- while those are not `enough`, by the words inside names (2) and, for words that no row has, by rows whose
-- words begin so (3). Chunks are those of
-- one generation, investigations those of one owner unless that is null. rank is ts_rank.
CREATE OR REPLACE FUNCTION search_full_text(
  source text, alternatives jsonb, generation integer, owner text, wanted integer, enough integer
) RETURNS TABLE (row_id bigint, tier integer, rank real) LANGUAGE plpgsql STABLE ROWS 200
SET enable_seqscan = off SET jit = off
SET client_min_messages = warning AS $$
DECLARE
  hows CONSTANT text[] := '{exact,parts,prefix}';
  relation text;
  content text;
  document text;
  condition text := 'true';
  -- One word alone: whether a row has it is known by then.
  is_lone CONSTANT boolean := jsonb_array_length(alternatives) = 1
    AND jsonb_array_length(alternatives->0) = 1;
  marked jsonb;
  query tsquery;
  earlier text[] := '{}';
  known bigint[] := '{}';
  found bigint[];
BEGIN
  CASE source
    WHEN 'execution_log' THEN
      relation := 'execution_logs';
      content := $sql$coalesce(message, '') || ' ' || coalesce(repository, '')$sql$;
    WHEN 'backup_result' THEN
      relation := 'backup_results';
      content := $sql$coalesce(repo_full_name, '') || ' ' || coalesce(status, '') || ' ' || coalesce(commit_hash, '') || ' ' || coalesce(error_message, '')$sql$;
    WHEN 'investigation' THEN
      relation := 'chat_messages';
      content := 'content';
      condition := $sql$role = 'assistant' AND status = 'completed'$sql$;
      IF owner IS NOT NULL THEN condition := condition || format(' AND username = %L', owner); END IF;
    WHEN 'backup_fix' THEN
      relation := 'backup_fixes';
      content := $sql$coalesce(title, '') || ' ' || coalesce(description, '') || ' ' || coalesce(commit_hash, '') || ' ' || coalesce(author, '')$sql$;
    WHEN 'chunk' THEN
      relation := 'embedding_chunks';
      content := 'content';
      condition := format('generation_id = %s', generation);
  END CASE;
  document := format('search_document(id, %s)', content);
  FOR tier IN 1..3 LOOP
    -- Each word is looked for on its own. Who types more of them than these has left none unfinished.
    EXIT WHEN tier = 3 AND (SELECT sum(jsonb_array_length(terms)) FROM jsonb_array_elements(alternatives) AS terms) > 8;
    marked := alternatives;
    IF tier = 3 THEN
      SELECT jsonb_agg((
        SELECT jsonb_agg(CASE
          WHEN (term->>'negated')::boolean OR (term->>'phrase')::boolean THEN term
          WHEN is_lone AND cardinality(known) > 0 THEN term
          WHEN is_lone OR cardinality(search_newest(relation, document, condition,
            search_term(term->>'text', false, 'parts'), 1, '{}')) = 0
          THEN term || '{"absent": true}' ELSE term END)
        FROM jsonb_array_elements(terms) AS term))
      INTO marked FROM jsonb_array_elements(alternatives) AS terms;
    END IF;
    query := search_query(marked, hows[tier]);
    CONTINUE WHEN numnode(query) = 0 OR query::text = ANY (earlier);
    earlier := earlier || query::text;
    IF tier < 3 THEN
      found := search_newest(relation, document, condition, query, wanted, known);
    ELSE
      found := search_beginnings(relation, document, condition, query, marked, wanted, known);
    END IF;
    RETURN QUERY EXECUTE format(
      'SELECT id::bigint, %s, ts_rank(%s, $1, 1) FROM %s WHERE id = ANY ($2)', tier, document, relation
    ) USING query, found;
    known := known || found;
    EXIT WHEN cardinality(known) >= enough;
  END LOOP;
END $$;
--> statement-breakpoint
-- The chunks of one generation nearest to a vector, at most `wanted`, of some source types: by the index of
-- the generation where it has one, else exactly. Empty without the vector extension.
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
  -- Loads the extension, which then knows its settings.
  EXECUTE format('SELECT %L::%s', target, kind);
  PERFORM set_config('hnsw.ef_search', '200', true);
  -- With a filter the index is asked again until enough is found. Since version 0.8.
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
--> statement-breakpoint
-- Of what is there already; a writer waits meanwhile. Each look into an index reads all that is pending in it:
-- the 4 MB of Postgres take 10 ms every time, and writers gain nothing by more than these 512 kB.
SELECT set_config('maintenance_work_mem', '256MB', true)
WHERE pg_size_bytes(current_setting('maintenance_work_mem')) < 268435456;
CREATE INDEX IF NOT EXISTS "execution_logs_document" ON "execution_logs" USING gin (search_document(id, coalesce(message, '') || ' ' || coalesce(repository, ''))) WITH (gin_pending_list_limit = 512);
CREATE INDEX IF NOT EXISTS "backup_results_document" ON "backup_results" USING gin (search_document(id, coalesce(repo_full_name, '') || ' ' || coalesce(status, '') || ' ' || coalesce(commit_hash, '') || ' ' || coalesce(error_message, ''))) WITH (gin_pending_list_limit = 512);
CREATE INDEX IF NOT EXISTS "chat_messages_document" ON "chat_messages" USING gin (search_document(id, content)) WITH (gin_pending_list_limit = 512);
CREATE INDEX IF NOT EXISTS "backup_fixes_document" ON "backup_fixes" USING gin (search_document(id, coalesce(title, '') || ' ' || coalesce(description, '') || ' ' || coalesce(commit_hash, '') || ' ' || coalesce(author, ''))) WITH (gin_pending_list_limit = 512);
CREATE INDEX IF NOT EXISTS "embedding_chunks_document" ON "embedding_chunks" USING gin (search_document(id, content)) WITH (gin_pending_list_limit = 512);

-- Full text over live rows and chunks: one index entry per word for all configurations, and functions that
-- find the newest matching rows without collecting all rows of a common word. Each step is bounded in time,
-- so that no query, however malicious, keeps the database busy for long. A search that runs out of time
-- returns what it has found, and that it was cut short.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Functions of earlier versions.
DROP FUNCTION IF EXISTS search_full_text(text, jsonb, integer, text, integer, integer);
DROP FUNCTION IF EXISTS search_newest(text, text, text, tsquery, integer, bigint[]);
DROP FUNCTION IF EXISTS search_beginnings(text, text, text, tsquery, jsonb, integer, bigint[]);
DROP FUNCTION IF EXISTS search_query(jsonb, text);
DROP FUNCTION IF EXISTS search_term(text, boolean, text);

-- Replaces separators within names by a letter, so that the parser reads `owner/repo-name`, `refs/heads/main`
-- and `10.0.0.1` as one word each, and other punctuation by spaces. Runs for every written row: replace()
-- takes a tenth of the time of translate(), which compares each character with each of its marks.
CREATE OR REPLACE FUNCTION search_names(content text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT replace(replace(replace(
    replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
      regexp_replace(' ' || left(content, 32768) || ' ', E'[][<>(){}"\'`=,;&|!?*^$\t\n\r]+', ' ', 'g'),
      '/', 'ø'), '-', 'ø'), '_', 'ø'), '.', 'ø'), ':', 'ø'), '@', 'ø'), '#', 'ø'), '~', 'ø'), '%', 'ø'), '+', 'ø'), E'\\', 'ø'),
    'øø', 'ø'), 'ø ', ' '), ' ø', ' ');
END;

-- The same text as separate words.
CREATE OR REPLACE FUNCTION search_parts(names text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT replace(names, 'ø', ' ');
END;

-- A document of a text with words of more than 2,046 bytes. Postgres omits them with a notice, which would
-- confuse writers of logs.
CREATE OR REPLACE FUNCTION search_document_of_long_names(row_id bigint, names text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET client_min_messages = warning
BEGIN ATOMIC
  SELECT to_tsvector('pg_catalog.simple', names
      || ' zfinez' || (row_id >> 11)::text || ' zcoarsez' || (row_id >> 17)::text)
    || to_tsvector('pg_catalog.english', search_parts(names));
END;

-- The document of a row: its names and words unchanged (simple), the words inside names as stems (english),
-- and the ranges of 2,048 and of 131,072 ids that contain it, as artificial words. A query with such a word
-- makes the index skip to that range. The indexes store the results of this function, so it may become faster
-- but must not return anything else. Only long texts can contain overlong words and need the setting.
CREATE OR REPLACE FUNCTION search_document_of_names(row_id bigint, names text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT CASE WHEN octet_length(names) > 2046 THEN search_document_of_long_names(row_id, names)
    ELSE to_tsvector('pg_catalog.simple', names
        || ' zfinez' || (row_id >> 11)::text || ' zcoarsez' || (row_id >> 17)::text)
      || to_tsvector('pg_catalog.english', search_parts(names)) END;
END;

-- The document of a text. A separate function, so that its names are computed once.
CREATE OR REPLACE FUNCTION search_document(row_id bigint, content text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT search_document_of_names(row_id, search_names(content));
END;

-- The words of a term that are searched as prefixes: whole names, and the last word inside them, because only
-- the end of the input can be incomplete. Excludes prefixes of the artificial words for id ranges.
CREATE OR REPLACE FUNCTION search_beginnings_of(content text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT array(
    SELECT word FROM (
      SELECT word FROM unnest(tsvector_to_array(to_tsvector('pg_catalog.simple', search_names(content)))) AS word
      WHERE length(trim(search_names(content))) > 2
      UNION
      SELECT lexeme FROM (
        SELECT lexeme, positions[cardinality(positions)] = max(positions[cardinality(positions)]) OVER () AS is_last
        FROM unnest(to_tsvector('pg_catalog.simple', search_parts(search_names(content))))
      ) AS part
      WHERE is_last AND length(lexeme) > 2
    ) AS beginnings
    WHERE NOT starts_with('zfinez', word) AND NOT starts_with('zcoarsez', word) AND word !~ '^z(fine|coarse)z'
  );
END;

-- The query for one word, name or phrase. How: exact; parts, which searches for the words inside a name;
-- prefix, which searches for prefixes, without those in `common`, so that the query matches more rows. Empty
-- if nothing is left.
CREATE OR REPLACE FUNCTION search_term(content text, is_phrase boolean, how text, common text[]) RETURNS tsquery
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  names text := search_names(content);
  stems tsquery := plainto_tsquery('pg_catalog.english', search_parts(names));
  beginnings text[];
  exact tsquery;
  parts tsquery;
BEGIN
  IF is_phrase THEN
    exact := phraseto_tsquery('pg_catalog.simple', names);
    stems := phraseto_tsquery('pg_catalog.english', search_parts(names));
    -- english reduces `timed out` to one word, which is not a phrase.
    IF how = 'exact' OR numnode(stems) < 2 THEN RETURN exact; END IF;
    RETURN exact || stems;
  END IF;
  IF how = 'prefix' THEN
    beginnings := search_beginnings_of(content);
    SELECT coalesce(string_agg(
      quote_literal(word) || CASE WHEN word = ANY (beginnings) THEN ':*' ELSE '' END, ' & '), '')
    INTO exact
    FROM unnest(tsvector_to_array(to_tsvector('pg_catalog.simple', names))) AS word
    WHERE word <> ALL (common);
    SELECT coalesce(string_agg(
      quote_literal(word) || CASE WHEN word = ANY (beginnings) THEN ':*' ELSE '' END, ' & '), '')
    INTO parts
    FROM unnest(tsvector_to_array(to_tsvector('pg_catalog.simple', search_parts(names)))) AS word
    WHERE word <> ALL (common);
    RETURN CASE WHEN numnode(exact) = 0 OR numnode(parts) = 0 THEN '' ELSE exact || parts END;
  ELSIF how = 'exact' AND position('ø' IN names) > 0 THEN
    RETURN plainto_tsquery('pg_catalog.simple', names);
  END IF;
  RETURN plainto_tsquery('pg_catalog.simple', names) || stems;
END $$;

-- The query for parsed input (lib/search/parse-query.ts): alternatives, each a list of terms {text, phrase,
-- negated} that must all match. Stop words only count on their own. With prefix, terms marked {absent} are
-- searched as prefixes, and alternatives without one are left out. With `missing`, that many of the first six
-- words of an alternative may be missing, but at most half of its words and phrases; phrases are always
-- required. Alternatives with too few words are left out. The loose query can be answered by the index alone
-- and matches a superset of the exact one: phrases become their words, and words in a term's {common} are
-- left out.
CREATE OR REPLACE FUNCTION search_query(alternatives jsonb, how text, missing integer, loosely boolean)
RETURNS tsquery LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  terms jsonb;
  term jsonb;
  part tsquery;
  met tsquery;
  common tsquery;
  without tsquery;
  words tsquery[];
  phrases integer;
  -- The n-th entry matches if n of the words so far do.
  counted tsquery[];
  whole tsquery := '';
BEGIN
  FOR terms IN SELECT jsonb_array_elements(alternatives) LOOP
    CONTINUE WHEN how = 'prefix' AND NOT terms @> '[{"absent": true}]';
    met := '';
    common := '';
    without := '';
    words := '{}';
    phrases := 0;
    FOR term IN SELECT jsonb_array_elements(terms) LOOP
      part := search_term(term->>'text', (term->>'phrase')::boolean,
        CASE WHEN how = 'prefix' AND NOT term @> '{"absent": true}' THEN 'parts' ELSE how END,
        CASE WHEN loosely THEN array(SELECT jsonb_array_elements_text(term->'common')) ELSE '{}' END);
      IF loosely AND (term->>'phrase')::boolean THEN
        -- Rows with its words may lack the phrase. Words contain no separators.
        part := CASE WHEN (term->>'negated')::boolean THEN ''
          ELSE regexp_replace(part::text, '<(-|[0-9]+)>', '&', 'g')::tsquery END;
      END IF;
      IF numnode(part) = 0 THEN
        CONTINUE;
      ELSIF (term->>'negated')::boolean THEN
        without := without && !! part;
      ELSIF numnode(plainto_tsquery('pg_catalog.english', search_parts(search_names(term->>'text')))) = 0 THEN
        common := common && part;
      ELSIF (term->>'phrase')::boolean THEN
        met := met && part;
        phrases := phrases + 1;
      ELSE
        words := words || part;
      END IF;
    END LOOP;
    IF missing > 0 THEN
      words := words[:6];
      CONTINUE WHEN missing * 2 > cardinality(words) + phrases OR missing > cardinality(words);
      counted := '{}';
      FOR n IN 1..cardinality(words) LOOP
        FOR met_words IN REVERSE least(n, cardinality(words) - missing)..1 LOOP
          counted[met_words] := coalesce(counted[met_words], '') ||
            CASE WHEN met_words = 1 THEN words[n] ELSE words[n] && counted[met_words - 1] END;
        END LOOP;
      END LOOP;
      words := array_remove(ARRAY[counted[cardinality(words) - missing]], NULL);
    END IF;
    FOREACH part IN ARRAY words LOOP
      met := met && part;
    END LOOP;
    IF numnode(met) = 0 THEN met := common; END IF;
    IF numnode(met) > 0 THEN whole := whole || (met && without); END IF;
  END LOOP;
  RETURN whole;
END $$;

-- The loose query for an exact one. They differ only if there is a phrase.
CREATE OR REPLACE FUNCTION search_loose(alternatives jsonb, how text, missing integer, query tsquery)
RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT CASE WHEN alternatives @? '$[*][*] ? (@.phrase == true)' THEN search_query(alternatives, how, missing, true)
    ELSE query END;
END;

-- LIKE patterns for the lower-case text of rows that contain the phrases of a query: its words with only
-- punctuation between them. Comparing a text with them takes a tenth of the time of computing its document.
-- None if there are alternatives.
CREATE OR REPLACE FUNCTION search_patterns(alternatives jsonb) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT array(
    SELECT (
      -- `ø` represents a separator, but is also a letter.
      SELECT string_agg(word[1], '(?:[^[:alnum:]]|ø)+' ORDER BY place)
      FROM regexp_matches(replace(lower(term->>'text'), 'ø', ' '), '[[:alnum:]]+', 'g')
        WITH ORDINALITY AS words (word, place)
      WHERE place <= 6
    )
    FROM jsonb_array_elements(alternatives->0) AS term
    WHERE jsonb_array_length(alternatives) = 1 AND (term->>'phrase')::boolean AND NOT (term->>'negated')::boolean
      AND lower(term->>'text') ~ '[[:alnum:]]');
END;

-- Samples about 120 rows from all over a relation: first all of their words, then the documents of the rows
-- (of the start of their texts). Words that are not among them are rare. Null instead of the words if time
-- runs out.
CREATE OR REPLACE FUNCTION search_sample(relation text, content text, until timestamptz) RETURNS tsvector[]
LANGUAGE plpgsql STABLE
SET jit = off AS $$
DECLARE
  pages CONSTANT bigint := pg_relation_size(relation::regclass) / current_setting('block_size')::int;
  documents tsvector[];
BEGIN
  -- One row in 32 of each sampled page.
  EXECUTE format(
    'SELECT array(SELECT CASE WHEN clock_timestamp() < $2 THEN search_document(id, left(%s, 512)) END
       FROM %s TABLESAMPLE SYSTEM ($1) REPEATABLE (7) WHERE hashint8(id::bigint) & 31 = 0 LIMIT 500)',
    content, relation)
  INTO documents USING least(6400.0 / greatest(pages, 1), 100), until;
  RETURN CASE WHEN array_position(documents, NULL) IS NULL THEN (
    SELECT array_to_tsvector(coalesce(array_agg(DISTINCT word), '{}'))
    FROM unnest(documents) AS document, unnest(tsvector_to_array(document)) AS word
  ) END || documents;
END $$;

-- Ids of the newest matching rows of a relation, at most `wanted` and none of `known`, and whether time ran
-- out before all rows were searched; the newest 2,048 ids always are. Searches ranges of ids from the newest
-- down, using only the index: a word that half of the rows contain fills the first range. The size of a range
-- is chosen to take about 10 ms, judging by the last one, and no more than about 100 ms if suddenly all of
-- its rows contain the words. After 131,072 ids, a sample of all rows tells what is rare, which is then
-- searched in up to 2,097,152 ids at once. If time runs out and nothing was found, common words are looked up
-- in the sample. If the index cannot decide (`loose` differs from `query`), the rows that it returns are
-- checked, newest first, with a time check before each. The sample is taken when it is first needed.
CREATE OR REPLACE FUNCTION search_newest(
  relation text, content text, condition text, query tsquery, loose tsquery, patterns text[],
  wanted integer, known bigint[], until timestamptz, INOUT sample tsvector[], OUT ids bigint[], OUT is_cut boolean
) LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET jit = off SET work_mem = '64MB'
SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
  document CONSTANT text := format('search_document(id, %s)', content);
  -- An expression, so that the planner does not scan the primary key and compute the document of each row.
  by_index CONSTANT text := format(
    'SELECT array(SELECT id::bigint FROM %s WHERE %s @@ $1 AND id + 0 <= $2 AND %s AND id <> ALL ($3)
       ORDER BY id + 0 DESC LIMIT $4)', relation, document, condition);
  by_row CONSTANT text := format(
    'SELECT array(SELECT number FROM unnest($1) AS candidate (number) WHERE CASE
         WHEN clock_timestamp() < $2 THEN (
           SELECT CASE WHEN lower(left(%1$s, 32768)) ~ ALL ($3) THEN %2$s @@ $4 END FROM %3$s WHERE id = number
         ) ELSE false END
       LIMIT $5)', content, document, relation);
  needs_rows CONSTANT boolean := query::text <> loose::text;
  -- In fine ranges of 2,048 ids. 64 of them are a coarse range.
  most integer := least(greatest(512 / (3 + numnode(loose)), 1), 64);
  size integer := 1;
  more bigint[];
  first bigint;
  newest bigint;
  oldest bigint;
  bits integer;
  begun timestamptz;
  passed interval;
  is_sampled boolean := false;
  is_last boolean := false;
BEGIN
  ids := '{}';
  is_cut := false;
  EXECUTE format('SELECT max(id)::bigint FROM %s', relation) INTO first;
  newest := first;
  WHILE newest IS NOT NULL AND cardinality(ids) < wanted AND NOT is_last LOOP
    begun := clock_timestamp();
    IF begun >= until AND newest < first THEN
      is_cut := true;
      SELECT (max(substr(word, 7)::bigint) << 11) + 2047 INTO newest
      FROM unnest(sample[2:]) AS sampled, unnest(tsvector_to_array(sampled)) AS word
      WHERE sampled @@ loose AND word ~ '^zfinez[0-9]+$' AND newest IS NOT NULL;
      EXIT WHEN newest IS NULL OR cardinality(ids) > 0 OR needs_rows;
      is_last := true;
      size := 1;
    ELSIF NOT is_sampled AND newest < first - 131072 THEN
      is_sampled := true;
      sample := coalesce(sample, search_sample(relation, content, begun + (until - begun) / 3));
      IF (CASE querytree(loose) WHEN 'T' THEN false ELSE NOT sample[1] @@ querytree(loose)::tsquery END) THEN
        most := 1024;
        size := 256;
      END IF;
    END IF;
    bits := CASE WHEN size < 64 THEN 11 ELSE 17 END;
    oldest := ((newest >> bits) - size / (CASE WHEN size < 64 THEN 1 ELSE 64 END) + 1) << bits;
    EXECUTE by_index INTO more USING
      loose && (SELECT string_agg(CASE bits WHEN 11 THEN 'zfinez' ELSE 'zcoarsez' END || number, ' | ')
                FROM generate_series(oldest >> bits, newest >> bits) AS number)::tsquery,
      newest, known || ids, CASE WHEN NOT needs_rows THEN wanted - cardinality(ids) END;
    newest := oldest - 1;
    -- Gaps between ids may be of any size.
    IF cardinality(more) = 0 THEN
      EXECUTE format('SELECT max(id)::bigint FROM %s WHERE id <= $1', relation) INTO newest USING newest;
    ELSIF needs_rows THEN
      EXECUTE by_row INTO more USING more, greatest(until, begun + interval '20 ms'), patterns, query,
        wanted - cardinality(ids);
      is_cut := cardinality(ids) + cardinality(more) < wanted AND clock_timestamp() >= until;
    END IF;
    ids := ids || more;
    EXIT WHEN is_cut;

    passed := clock_timestamp() - begun;
    IF passed < interval '8 ms' THEN
      size := least(size * 4, most);
    ELSIF passed > interval '25 ms' THEN
      size := greatest(size / 4, 1);
    END IF;
  END LOOP;
END $$;

-- Like search_newest, for a query with prefixes. Common prefixes are searched in the newest rows themselves,
-- others with the index, which has no ranges for them.
CREATE OR REPLACE FUNCTION search_beginnings(
  relation text, content text, condition text, alternatives jsonb, wanted integer, known bigint[],
  until timestamptz, INOUT sample tsvector[], OUT ids bigint[], OUT is_cut boolean
) LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET jit = off SET work_mem = '64MB'
SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
  document CONSTANT text := format('search_document(id, %s)', content);
  query CONSTANT tsquery := search_query(alternatives, 'prefix', 0, false);
  -- A check that is faster than computing the document: every absent word of a single alternative. Nothing if
  -- there are several.
  patterns CONSTANT text[] := array(
    SELECT '%' || word || '%' FROM jsonb_array_elements(alternatives->0) AS term,
      unnest(tsvector_to_array(to_tsvector('pg_catalog.simple', search_parts(search_names(term->>'text'))))) AS word
    WHERE jsonb_array_length(alternatives) = 1 AND term @> '{"absent": true}');
  begun CONSTANT timestamptz := clock_timestamp();
  common jsonb;
  loose tsquery;
  newest bigint;
  more bigint[];
BEGIN
  EXECUTE format('SELECT max(id)::bigint FROM %s', relation) INTO newest;
  EXECUTE format(
    'SELECT array(SELECT id::bigint FROM %s WHERE id > $1 AND %s AND id <> ALL ($2) AND CASE
         WHEN clock_timestamp() >= $3 THEN false
         WHEN lower(left(%s, 32768)) LIKE ALL ($4) THEN %s @@ $5 END
       ORDER BY id DESC LIMIT $6)', relation, condition, content, document)
  INTO ids USING newest - 8192, known, begun + (until - begun) / 3, patterns, query, wanted;
  is_cut := false;
  IF cardinality(ids) >= least(wanted, 20) THEN RETURN; END IF;

  -- For a prefix, the index collects all rows of all matching words before it returns the first one.
  sample := coalesce(sample, search_sample(relation, content, begun + (until - begun) / 2));
  common := to_jsonb(array(
    SELECT DISTINCT beginning FROM jsonb_array_elements(alternatives) AS terms,
      jsonb_array_elements(terms) AS term, unnest(search_beginnings_of(term->>'text')) AS beginning
    WHERE term @> '{"absent": true}'
      AND (sample[1] @@ (quote_literal(beginning) || ':*')::tsquery) IS NOT FALSE));
  SELECT search_query(jsonb_agg((
      SELECT jsonb_agg(term || jsonb_build_object('common', common)) FROM jsonb_array_elements(terms) AS term
    )), 'prefix', 0, true)
  INTO loose FROM jsonb_array_elements(alternatives) AS terms;
  IF numnode(loose) = 0 THEN
    is_cut := true;
  ELSE
    SELECT newer.sample, newer.ids, newer.is_cut INTO sample, more, is_cut
    FROM search_newest(relation, content, condition, query, loose,
      '{}', wanted - cardinality(ids), known || ids, until, sample) AS newer;
    ids := ids || more;
  END IF;
END $$;

-- The rows of one source: chunks of one generation, investigations of one owner (of all, if null).
CREATE OR REPLACE FUNCTION search_source(
  source text, generation integer, owner text, OUT relation text, OUT content text, OUT condition text
) LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  condition := 'true';
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
END $$;

-- Whether a relation has any rows.
CREATE OR REPLACE FUNCTION search_has_rows(relation text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
  is_there boolean;
BEGIN
  EXECUTE format('SELECT EXISTS (SELECT FROM %s)', relation) INTO is_there;
  RETURN is_there;
END $$;

-- Rows with their ts_rank for a query. Rows that are not ranked in time have rank 0.
CREATE OR REPLACE FUNCTION search_ranked(
  relation text, content text, query tsquery, ids bigint[], until timestamptz
) RETURNS TABLE (row_id bigint, rank real) LANGUAGE plpgsql STABLE ROWS 200
SET enable_seqscan = off SET jit = off AS $$
BEGIN
  RETURN QUERY EXECUTE format(
    'SELECT number, CASE WHEN clock_timestamp() < $3 THEN (
         SELECT ts_rank(search_document(id, %s), $2, 1) FROM %s WHERE id = number
       ) ELSE 0 END
     FROM unnest($1) AS candidate (number)', content, relation)
  USING ids, query, until;
END $$;

-- Full-text candidates of one source: the newest `wanted` rows that match the query exactly (tier 1) and,
-- unless these are `enough`, by the words inside names (2) and, for words that no row contains, by prefix
-- (3). rank is ts_rank. If time ran out before there were enough, the last row has no id.
CREATE OR REPLACE FUNCTION search_full_text(
  source text, alternatives jsonb, generation integer, owner text, wanted integer, enough integer,
  until timestamptz DEFAULT clock_timestamp() + interval '100 ms'
) RETURNS TABLE (row_id bigint, tier integer, rank real) LANGUAGE plpgsql STABLE ROWS 200
SET client_min_messages = warning AS $$
DECLARE
  hows CONSTANT text[] := '{exact,parts,prefix}';
  -- With a single word, it is already known whether a row contains it.
  is_lone CONSTANT boolean := jsonb_array_length(alternatives) = 1
    AND jsonb_array_length(alternatives->0) = 1;
  -- Part of the time is reserved for ranking.
  found_by CONSTANT timestamptz := until - greatest(until - clock_timestamp(), interval '0') / 5;
  place record;
  marked jsonb;
  query tsquery;
  earlier text[] := '{}';
  known bigint[] := '{}';
  sample tsvector[];
  ids bigint[];
  now timestamptz;
  is_cut boolean;
  was_cut boolean := false;
BEGIN
  place := search_source(source, generation, owner);
  IF NOT search_has_rows(place.relation) THEN RETURN; END IF;
  FOR tier IN 1..3 LOOP
    -- Each word is searched separately. With more words than these, the last one is probably complete.
    EXIT WHEN tier = 3 AND (SELECT sum(jsonb_array_length(terms)) FROM jsonb_array_elements(alternatives) AS terms) > 8;
    now := clock_timestamp();
    IF tier > 1 AND now >= found_by THEN
      was_cut := true;
      EXIT;
    END IF;
    marked := alternatives;
    IF tier = 3 THEN
      SELECT jsonb_agg((
        SELECT jsonb_agg(CASE
          WHEN (term->>'negated')::boolean OR (term->>'phrase')::boolean THEN term
          WHEN is_lone AND cardinality(known) > 0 THEN term
          WHEN is_lone OR search_has_none(place.relation, place.content, place.condition, term->>'text',
            now + (found_by - now) / 3, sample)
          THEN term || '{"absent": true}' ELSE term END)
        FROM jsonb_array_elements(terms) AS term))
      INTO marked FROM jsonb_array_elements(alternatives) AS terms;
    END IF;
    query := search_query(marked, hows[tier], 0, false);
    CONTINUE WHEN numnode(query) = 0 OR query::text = ANY (earlier);
    earlier := earlier || query::text;
    IF tier < 3 THEN
      SELECT newest.sample, newest.ids, newest.is_cut INTO sample, ids, is_cut FROM search_newest(
        place.relation, place.content, place.condition, query, search_loose(marked, hows[tier], 0, query),
        CASE tier WHEN 1 THEN search_patterns(marked) ELSE '{}' END,
        wanted, known, now + (found_by - now) / 2, sample) AS newest;
    ELSE
      SELECT newest.ids, newest.is_cut INTO ids, is_cut FROM search_beginnings(
        place.relation, place.content, place.condition, marked, wanted, known, found_by, sample) AS newest;
    END IF;
    RETURN QUERY SELECT ranked.row_id, tier, ranked.rank
      FROM search_ranked(place.relation, place.content, query, ids, until) AS ranked;
    known := known || ids;
    was_cut := was_cut OR is_cut;
    EXIT WHEN cardinality(known) >= enough;
  END LOOP;
  IF was_cut AND cardinality(known) < enough THEN
    RETURN QUERY SELECT NULL::bigint, 0, 0::real;
  END IF;
END $$;

-- Whether no row contains a word. Also false if that cannot be determined in time.
CREATE OR REPLACE FUNCTION search_has_none(
  relation text, content text, condition text, word text, until timestamptz, sample tsvector[]
) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT newest.ids = '{}' AND NOT newest.is_cut
  FROM search_term(word, false, 'parts', '{}') AS query,
    search_newest(relation, content, condition, query, query, '{}', 1, '{}', until, sample) AS newest
$$;

-- More candidates of one source if all words together find too few: the newest rows that lack one of the
-- words (tier 4) and, unless these are `enough`, two or three of them. Otherwise like search_full_text.
CREATE OR REPLACE FUNCTION search_most_words(
  source text, alternatives jsonb, generation integer, owner text, wanted integer, enough integer,
  until timestamptz
) RETURNS TABLE (row_id bigint, tier integer, rank real) LANGUAGE plpgsql STABLE ROWS 200
SET client_min_messages = warning AS $$
DECLARE
  found_by CONSTANT timestamptz := until - greatest(until - clock_timestamp(), interval '0') / 5;
  place record;
  query tsquery;
  known bigint[] := '{}';
  sample tsvector[];
  ids bigint[];
  now timestamptz;
  is_cut boolean;
  was_cut boolean := false;
BEGIN
  place := search_source(source, generation, owner);
  IF NOT search_has_rows(place.relation) THEN RETURN; END IF;
  FOR missing IN 1..3 LOOP
    now := clock_timestamp();
    was_cut := was_cut OR now >= found_by;
    EXIT WHEN now >= found_by;
    query := search_query(alternatives, 'parts', missing, false);
    -- None has enough words, or there are so many alternatives that each row would take too long.
    EXIT WHEN numnode(query) NOT BETWEEN 1 AND 500;
    SELECT newest.sample, newest.ids, newest.is_cut INTO sample, ids, is_cut FROM search_newest(
      place.relation, place.content, place.condition, query, search_loose(alternatives, 'parts', missing, query),
      '{}', wanted, known, now + (found_by - now) / 2, sample) AS newest;
    RETURN QUERY SELECT ranked.row_id, 3 + missing, ranked.rank
      FROM search_ranked(place.relation, place.content, query, ids, until) AS ranked;
    known := known || ids;
    was_cut := was_cut OR is_cut;
    EXIT WHEN cardinality(known) >= enough;
  END LOOP;
  IF was_cut AND cardinality(known) < enough THEN
    RETURN QUERY SELECT NULL::bigint, 0, 0::real;
  END IF;
END $$;

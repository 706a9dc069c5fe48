-- Keeps embeddings in sync with their sources.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Enables vectors if the server has the vector extension. Returns null, or the reason why it cannot. May be
-- called again at any time, in case the extension has been installed.
CREATE OR REPLACE FUNCTION enable_embedding_vectors() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT FROM pg_attribute
    WHERE attrelid = 'embedding_chunks'::regclass AND attname = 'embedding' AND NOT attisdropped
  ) THEN
    RETURN NULL;
  END IF;
  -- With concurrent callers, the second one finds the column.
  PERFORM pg_advisory_xact_lock(7205759403793);
  CREATE EXTENSION IF NOT EXISTS vector;
  IF (
    SELECT string_to_array(extversion, '.')::int[] < '{0,7}' FROM pg_extension WHERE extname = 'vector'
  ) THEN
    RETURN 'the vector extension of this database is older than 0.7';
  END IF;
  -- Without dimensions, because generations of several models share the table.
  ALTER TABLE embedding_chunks ADD COLUMN IF NOT EXISTS embedding vector;
  RETURN NULL;
EXCEPTION
  WHEN feature_not_supported OR undefined_file THEN
    RETURN 'the vector extension is not installed on this database server';
  WHEN insufficient_privilege THEN
    RETURN 'this database role may not create the vector extension';
  WHEN undefined_object THEN
    RETURN 'the vector extension is in a schema that is not on the search path';
END $$;

-- Removes the chunks of changed and deleted sources in the same transaction. Jobs of a deleted source are
-- deleted, those of a changed one are repeated. Jobs are handled before chunks: a batch that is about to
-- store chunks either has done so, and is waited for here, or finds that its job is gone. Statements are
-- planned for each call, because a cached plan for one row would compare each of a million rows with all
-- jobs. Rows are compared by their bytes, because not every type has an equality operator. After a TRUNCATE
-- ids may restart, so everything is new.
CREATE OR REPLACE FUNCTION forget_embedded_sources() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  type CONSTANT text := TG_ARGV[0];
  -- Skip rows whose content did not change.
  gone text := 'removed_rows';
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    UPDATE embedding_watermarks SET settled_id = 0, seen_id = 0, seen_before = 0
    WHERE source_type = type;
    DELETE FROM embedding_jobs WHERE source_type = type;
    DELETE FROM embedding_chunks WHERE source_type = type;
    RETURN NULL;
  ELSIF NOT EXISTS (SELECT FROM embedding_jobs) THEN
    RETURN NULL;
  END IF;
  IF TG_OP = 'UPDATE' THEN
    gone := '(SELECT removed.id FROM removed_rows AS removed WHERE NOT EXISTS (
      SELECT FROM added_rows AS kept WHERE kept.id = removed.id AND kept *= removed))';
  END IF;
  -- A changed source gets a new job instead of the old one, so that a batch that has just claimed the old
  -- one, with the old text, finds it gone.
  EXECUTE format(
    'WITH undone AS (
       DELETE FROM embedding_jobs AS job USING embedding_generations AS generation, %s AS gone
       WHERE job.generation_id = generation.id AND job.source_type = %L
         AND job.source_id = gone.id::text
       RETURNING job.generation_id, job.source_id
     )', gone, type)
    || CASE TG_OP WHEN 'UPDATE' THEN format(
      'INSERT INTO embedding_jobs (generation_id, source_type, source_id)
       SELECT generation_id, %L, source_id FROM undone
       WHERE source_id IN (SELECT id::text FROM added_rows)', type)
    ELSE 'SELECT' END;
  EXECUTE format(
    'DELETE FROM embedding_chunks AS chunk USING embedding_generations AS generation, %s AS gone
     WHERE chunk.generation_id = generation.id AND chunk.source_type = %L
       AND chunk.source_id = gone.id::text', gone, type);
  RETURN NULL;
END $$;

DO $do$
DECLARE
  source record;
BEGIN
  FOR source IN
    SELECT * FROM (VALUES ('execution_logs', 'execution_log'), ('backup_results', 'backup_result'),
                          ('chat_messages', 'investigation')) AS sources (relation, type)
  LOOP
    EXECUTE format(
      'CREATE OR REPLACE TRIGGER forget_embedded_removed AFTER DELETE ON %1$I
         REFERENCING OLD TABLE AS removed_rows
         FOR EACH STATEMENT EXECUTE FUNCTION forget_embedded_sources(%2$L);
       CREATE OR REPLACE TRIGGER forget_embedded_changed AFTER UPDATE ON %1$I
         REFERENCING OLD TABLE AS removed_rows NEW TABLE AS added_rows
         FOR EACH STATEMENT EXECUTE FUNCTION forget_embedded_sources(%2$L);
       CREATE OR REPLACE TRIGGER forget_embedded_truncated AFTER TRUNCATE ON %1$I
         FOR EACH STATEMENT EXECUTE FUNCTION forget_embedded_sources(%2$L);
       ALTER TABLE %1$I ENABLE ALWAYS TRIGGER forget_embedded_removed;
       ALTER TABLE %1$I ENABLE ALWAYS TRIGGER forget_embedded_changed;
       ALTER TABLE %1$I ENABLE ALWAYS TRIGGER forget_embedded_truncated;',
      source.relation, source.type);
  END LOOP;
END $do$;

-- What keeps embeddings in step with their sources.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Makes room for vectors where the server has the vector extension, and says in words why not where it
-- cannot; null means that it can. May be called again whenever the extension may have been installed since.
CREATE OR REPLACE FUNCTION enable_embedding_vectors() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT FROM pg_attribute
    WHERE attrelid = 'embedding_chunks'::regclass AND attname = 'embedding' AND NOT attisdropped
  ) THEN
    RETURN NULL;
  END IF;
  -- Two callers at once: the second one then finds the column.
  PERFORM pg_advisory_xact_lock(7205759403793);
  CREATE EXTENSION IF NOT EXISTS vector;
  IF (
    SELECT string_to_array(extversion, '.')::int[] < '{0,7}' FROM pg_extension WHERE extname = 'vector'
  ) THEN
    RETURN 'the vector extension of this database is older than 0.7';
  END IF;
  -- Without dimensions: generations of several models live here.
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

-- What is removed from a source, or overwritten there, is gone from the chunks in the same transaction: a
-- deleted source loses its jobs, a changed one has them done again. The jobs go first: a batch that is
-- about to store chunks then either has done so, and is waited for here, or finds its job taken away.
-- Statements are planned for each call: the plan for one row, kept for the session, would compare each of a
-- million with all jobs. Rows are compared by their bytes, as not every type has an equality. TRUNCATE may
-- begin ids again, so all that comes is new.
CREATE OR REPLACE FUNCTION forget_embedded_sources() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  type CONSTANT text := TG_ARGV[0];
  -- A row that was written as it had been stays as it is.
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
  -- A changed source gets a new job in place of the old one: a batch that claims the old one now, with the
  -- text of before, finds it gone.
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

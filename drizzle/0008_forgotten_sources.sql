-- The trigger function of 0005 again, by the same rules. Its statements are planned for each call: the plan
-- for one row, kept for the session, would compare each of a million with all jobs. Rows are compared by
-- their bytes, as not every type has an equality. TRUNCATE may begin ids again, so all that comes is new.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);
--> statement-breakpoint
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

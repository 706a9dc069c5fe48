-- Embedding generations: versions of the vector index, the jobs that build them and what they hold.
CREATE TABLE IF NOT EXISTS "embedding_generations" (
  "id" serial PRIMARY KEY NOT NULL,
  "model_id" text NOT NULL,
  "dimensions" integer NOT NULL,
  "status" text DEFAULT 'BUILDING' NOT NULL,
  "created_at" timestamp with time zone DEFAULT now() NOT NULL,
  "activated_at" timestamp with time zone,
  CONSTRAINT "embedding_generations_status_check" CHECK (status IN ('BUILDING', 'READY', 'ACTIVE', 'RETIRED', 'FAILED'))
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "embedding_jobs" (
  "id" bigserial PRIMARY KEY NOT NULL,
  "generation_id" integer NOT NULL,
  "source_type" text NOT NULL,
  "source_id" text NOT NULL,
  "status" text DEFAULT 'pending' NOT NULL,
  "attempts" integer DEFAULT 0 NOT NULL,
  "leased_by" text,
  "leased_until" timestamp with time zone DEFAULT '-infinity' NOT NULL,
  "error_message" text,
  CONSTRAINT "embedding_jobs_status_check" CHECK (status IN ('pending', 'processing', 'completed', 'failed'))
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "embedding_chunks" (
  "id" bigserial PRIMARY KEY NOT NULL,
  "generation_id" integer NOT NULL,
  "source_type" text NOT NULL,
  "source_id" text NOT NULL,
  "chunk_index" integer NOT NULL,
  "content" text NOT NULL,
  "metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
  "source_created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "embedding_watermarks" (
  "generation_id" integer NOT NULL,
  "source_type" text NOT NULL,
  "settled_id" bigint NOT NULL,
  "seen_id" bigint NOT NULL,
  "seen_before" bigint NOT NULL,
  CONSTRAINT "embedding_watermarks_pkey" PRIMARY KEY("generation_id","source_type")
);
--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "embedding_chunks_of_source" ON "embedding_chunks" USING btree ("generation_id","source_type","source_id","chunk_index");
CREATE UNIQUE INDEX IF NOT EXISTS "embedding_generations_building" ON "embedding_generations" USING btree ("status") WHERE status = 'BUILDING';
CREATE UNIQUE INDEX IF NOT EXISTS "embedding_generations_active" ON "embedding_generations" USING btree ("status") WHERE status = 'ACTIVE';
CREATE UNIQUE INDEX IF NOT EXISTS "embedding_jobs_of_source" ON "embedding_jobs" USING btree ("generation_id","source_type","source_id");
CREATE INDEX IF NOT EXISTS "embedding_jobs_open" ON "embedding_jobs" USING btree ("generation_id","leased_until","id") WHERE status IN ('pending', 'processing');
CREATE INDEX IF NOT EXISTS "embedding_jobs_failed" ON "embedding_jobs" USING btree ("generation_id") WHERE status = 'failed';
--> statement-breakpoint
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
SELECT enable_embedding_vectors();
--> statement-breakpoint
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);
--> statement-breakpoint
-- What is removed from a source, or overwritten there, is gone from the chunks in the same transaction: a
-- deleted source loses its jobs, a changed one has them done again. The jobs go first: a batch that is
-- about to store chunks then either has done so, and is waited for here, or finds its job taken away.
CREATE OR REPLACE FUNCTION forget_embedded_sources() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  type CONSTANT text := TG_ARGV[0];
BEGIN
  IF NOT EXISTS (SELECT FROM embedding_jobs) THEN
    RETURN NULL;
  ELSIF TG_OP = 'TRUNCATE' THEN
    DELETE FROM embedding_jobs WHERE source_type = type;
    DELETE FROM embedding_chunks WHERE source_type = type;
  ELSIF TG_OP = 'DELETE' THEN
    DELETE FROM embedding_jobs AS job USING embedding_generations AS generation, removed_rows AS gone
    WHERE job.generation_id = generation.id AND job.source_type = type
      AND job.source_id = gone.id::text;
    DELETE FROM embedding_chunks AS chunk USING embedding_generations AS generation, removed_rows AS gone
    WHERE chunk.generation_id = generation.id AND chunk.source_type = type
      AND chunk.source_id = gone.id::text;
  ELSE
    -- A new job in place of the old one: a batch that claims the old one now, with the text of before,
    -- finds it gone.
    WITH undone AS (
      DELETE FROM embedding_jobs AS job USING embedding_generations AS generation, removed_rows AS gone
      WHERE job.generation_id = generation.id AND job.source_type = type
        AND job.source_id = gone.id::text
        AND NOT EXISTS (SELECT FROM added_rows AS kept WHERE kept = gone)
      RETURNING job.generation_id, job.source_id
    )
    INSERT INTO embedding_jobs (generation_id, source_type, source_id)
    SELECT generation_id, type, source_id FROM undone
    WHERE source_id IN (SELECT id::text FROM added_rows);
    DELETE FROM embedding_chunks AS chunk USING embedding_generations AS generation, removed_rows AS gone
    WHERE chunk.generation_id = generation.id AND chunk.source_type = type
      AND chunk.source_id = gone.id::text
      AND NOT EXISTS (SELECT FROM added_rows AS kept WHERE kept = gone);
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
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

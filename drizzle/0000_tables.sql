-- The tables. Databases made by other writers hold some of them already, so every step here works on
-- what is there and keeps every row.
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "backup_runs" (
  "id" serial PRIMARY KEY NOT NULL,
  "status" text DEFAULT 'running' NOT NULL,
  "started_at" timestamp with time zone DEFAULT now() NOT NULL,
  "completed_at" timestamp with time zone,
  "total_repos" integer DEFAULT 0,
  "successful" integer DEFAULT 0,
  "failed" integer DEFAULT 0,
  "skipped" integer DEFAULT 0,
  "duration_ms" bigint DEFAULT 0,
  "error_message" text DEFAULT '',
  "heartbeat_at" timestamp with time zone,
  "exclusive_key" text,
  CONSTRAINT "backup_runs_exclusive_key_unique" UNIQUE("exclusive_key")
);
--> statement-breakpoint
ALTER TABLE "backup_runs"
  ADD COLUMN IF NOT EXISTS "status" text DEFAULT 'running' NOT NULL,
  ALTER COLUMN "status" SET DEFAULT 'running',
  ADD COLUMN IF NOT EXISTS "started_at" timestamp with time zone DEFAULT now() NOT NULL,
  ALTER COLUMN "started_at" SET DEFAULT now(),
  ADD COLUMN IF NOT EXISTS "completed_at" timestamp with time zone,
  ADD COLUMN IF NOT EXISTS "total_repos" integer DEFAULT 0,
  ALTER COLUMN "total_repos" SET DEFAULT 0,
  ADD COLUMN IF NOT EXISTS "successful" integer DEFAULT 0,
  ALTER COLUMN "successful" SET DEFAULT 0,
  ADD COLUMN IF NOT EXISTS "failed" integer DEFAULT 0,
  ALTER COLUMN "failed" SET DEFAULT 0,
  ADD COLUMN IF NOT EXISTS "skipped" integer DEFAULT 0,
  ALTER COLUMN "skipped" SET DEFAULT 0,
  ADD COLUMN IF NOT EXISTS "duration_ms" bigint DEFAULT 0,
  ALTER COLUMN "duration_ms" SET DEFAULT 0,
  ADD COLUMN IF NOT EXISTS "error_message" text DEFAULT '',
  ALTER COLUMN "error_message" SET DEFAULT '',
  ADD COLUMN IF NOT EXISTS "heartbeat_at" timestamp with time zone,
  ADD COLUMN IF NOT EXISTS "exclusive_key" text;
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "backup_results" (
  "id" serial PRIMARY KEY NOT NULL,
  "run_id" integer NOT NULL,
  "repo_full_name" text NOT NULL,
  "status" text DEFAULT 'completed' NOT NULL,
  "commit_hash" text DEFAULT '',
  "archive_size_bytes" bigint DEFAULT 0,
  "duration_ms" bigint DEFAULT 0,
  "error_message" text DEFAULT '',
  "created_at" timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT "backup_results_run_id_fkey" FOREIGN KEY ("run_id") REFERENCES "backup_runs"("id") ON DELETE cascade
);
--> statement-breakpoint
ALTER TABLE "backup_results"
  ADD COLUMN IF NOT EXISTS "run_id" integer,
  ADD COLUMN IF NOT EXISTS "repo_full_name" text,
  ADD COLUMN IF NOT EXISTS "status" text DEFAULT 'completed' NOT NULL,
  ALTER COLUMN "status" SET DEFAULT 'completed',
  ADD COLUMN IF NOT EXISTS "commit_hash" text DEFAULT '',
  ALTER COLUMN "commit_hash" SET DEFAULT '',
  ADD COLUMN IF NOT EXISTS "archive_size_bytes" bigint DEFAULT 0,
  ALTER COLUMN "archive_size_bytes" SET DEFAULT 0,
  ADD COLUMN IF NOT EXISTS "duration_ms" bigint DEFAULT 0,
  ALTER COLUMN "duration_ms" SET DEFAULT 0,
  ADD COLUMN IF NOT EXISTS "error_message" text DEFAULT '',
  ALTER COLUMN "error_message" SET DEFAULT '',
  ADD COLUMN IF NOT EXISTS "created_at" timestamp with time zone DEFAULT now() NOT NULL,
  ALTER COLUMN "created_at" SET DEFAULT now();
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "execution_logs" (
  "id" bigserial PRIMARY KEY NOT NULL,
  "run_id" integer,
  "level" text DEFAULT 'info' NOT NULL,
  "message" text DEFAULT '' NOT NULL,
  "repository" text,
  "created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "execution_logs"
  ADD COLUMN IF NOT EXISTS "run_id" integer,
  ADD COLUMN IF NOT EXISTS "level" text DEFAULT 'info' NOT NULL,
  ALTER COLUMN "level" SET DEFAULT 'info',
  ADD COLUMN IF NOT EXISTS "message" text DEFAULT '' NOT NULL,
  ALTER COLUMN "message" SET DEFAULT '',
  ADD COLUMN IF NOT EXISTS "repository" text,
  ADD COLUMN IF NOT EXISTS "created_at" timestamp with time zone DEFAULT now() NOT NULL,
  ALTER COLUMN "created_at" SET DEFAULT now();
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "analytics_snapshots" (
  "id" serial PRIMARY KEY NOT NULL,
  "run_id" integer,
  "captured_at" timestamp with time zone DEFAULT now() NOT NULL,
  "head_commit" text DEFAULT '',
  "head_commit_message" text DEFAULT '',
  "head_commit_at" timestamp with time zone,
  "total_commits" integer DEFAULT 0,
  "branch_count" integer DEFAULT 0,
  "tag_count" integer DEFAULT 0,
  "tracked_files" integer DEFAULT 0,
  "total_blob_size_bytes" bigint DEFAULT 0,
  "avg_blob_size_bytes" bigint DEFAULT 0,
  "largest_blob_path" text DEFAULT '',
  "largest_blob_size_bytes" bigint DEFAULT 0,
  "archive_count" integer DEFAULT 0,
  "total_archive_size_bytes" bigint DEFAULT 0,
  "avg_archive_size_bytes" bigint DEFAULT 0,
  "largest_archive_path" text DEFAULT '',
  "largest_archive_size_bytes" bigint DEFAULT 0
);
--> statement-breakpoint
ALTER TABLE "analytics_snapshots"
  ADD COLUMN IF NOT EXISTS "run_id" integer,
  ADD COLUMN IF NOT EXISTS "captured_at" timestamp with time zone DEFAULT now() NOT NULL,
  ALTER COLUMN "captured_at" SET DEFAULT now(),
  ADD COLUMN IF NOT EXISTS "head_commit" text DEFAULT '',
  ALTER COLUMN "head_commit" SET DEFAULT '',
  ADD COLUMN IF NOT EXISTS "head_commit_message" text DEFAULT '',
  ALTER COLUMN "head_commit_message" SET DEFAULT '',
  ADD COLUMN IF NOT EXISTS "head_commit_at" timestamp with time zone,
  ADD COLUMN IF NOT EXISTS "total_commits" integer DEFAULT 0,
  ALTER COLUMN "total_commits" SET DEFAULT 0,
  ADD COLUMN IF NOT EXISTS "branch_count" integer DEFAULT 0,
  ALTER COLUMN "branch_count" SET DEFAULT 0,
  ADD COLUMN IF NOT EXISTS "tag_count" integer DEFAULT 0,
  ALTER COLUMN "tag_count" SET DEFAULT 0,
  ADD COLUMN IF NOT EXISTS "tracked_files" integer DEFAULT 0,
  ALTER COLUMN "tracked_files" SET DEFAULT 0,
  ADD COLUMN IF NOT EXISTS "total_blob_size_bytes" bigint DEFAULT 0,
  ALTER COLUMN "total_blob_size_bytes" SET DEFAULT 0,
  ADD COLUMN IF NOT EXISTS "avg_blob_size_bytes" bigint DEFAULT 0,
  ALTER COLUMN "avg_blob_size_bytes" SET DEFAULT 0,
  ADD COLUMN IF NOT EXISTS "largest_blob_path" text DEFAULT '',
  ALTER COLUMN "largest_blob_path" SET DEFAULT '',
  ADD COLUMN IF NOT EXISTS "largest_blob_size_bytes" bigint DEFAULT 0,
  ALTER COLUMN "largest_blob_size_bytes" SET DEFAULT 0,
  ADD COLUMN IF NOT EXISTS "archive_count" integer DEFAULT 0,
  ALTER COLUMN "archive_count" SET DEFAULT 0,
  ADD COLUMN IF NOT EXISTS "total_archive_size_bytes" bigint DEFAULT 0,
  ALTER COLUMN "total_archive_size_bytes" SET DEFAULT 0,
  ADD COLUMN IF NOT EXISTS "avg_archive_size_bytes" bigint DEFAULT 0,
  ALTER COLUMN "avg_archive_size_bytes" SET DEFAULT 0,
  ADD COLUMN IF NOT EXISTS "largest_archive_path" text DEFAULT '',
  ALTER COLUMN "largest_archive_path" SET DEFAULT '',
  ADD COLUMN IF NOT EXISTS "largest_archive_size_bytes" bigint DEFAULT 0,
  ALTER COLUMN "largest_archive_size_bytes" SET DEFAULT 0;
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "backup_fixes" (
  "id" serial PRIMARY KEY NOT NULL,
  "title" text DEFAULT '' NOT NULL,
  "description" text DEFAULT '' NOT NULL,
  "commit_hash" text DEFAULT '',
  "author" text DEFAULT '',
  "created_at" timestamp with time zone DEFAULT now() NOT NULL,
  "updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "backup_fixes"
  ADD COLUMN IF NOT EXISTS "title" text DEFAULT '' NOT NULL,
  ALTER COLUMN "title" SET DEFAULT '',
  ADD COLUMN IF NOT EXISTS "description" text DEFAULT '' NOT NULL,
  ALTER COLUMN "description" SET DEFAULT '',
  ADD COLUMN IF NOT EXISTS "commit_hash" text DEFAULT '',
  ALTER COLUMN "commit_hash" SET DEFAULT '',
  ADD COLUMN IF NOT EXISTS "author" text DEFAULT '',
  ALTER COLUMN "author" SET DEFAULT '',
  ADD COLUMN IF NOT EXISTS "created_at" timestamp with time zone DEFAULT now() NOT NULL,
  ALTER COLUMN "created_at" SET DEFAULT now(),
  ADD COLUMN IF NOT EXISTS "updated_at" timestamp with time zone DEFAULT now() NOT NULL,
  ALTER COLUMN "updated_at" SET DEFAULT now();
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "backup_run_fixes" (
  "run_id" integer NOT NULL,
  "fix_id" integer NOT NULL,
  CONSTRAINT "backup_run_fixes_pkey" PRIMARY KEY("run_id","fix_id"),
  CONSTRAINT "backup_run_fixes_run_id_fkey" FOREIGN KEY ("run_id") REFERENCES "backup_runs"("id") ON DELETE cascade,
  CONSTRAINT "backup_run_fixes_fix_id_fkey" FOREIGN KEY ("fix_id") REFERENCES "backup_fixes"("id") ON DELETE cascade
);
--> statement-breakpoint
ALTER TABLE "backup_run_fixes"
  ADD COLUMN IF NOT EXISTS "run_id" integer,
  ADD COLUMN IF NOT EXISTS "fix_id" integer;
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "backup_run_requests" (
  "id" serial PRIMARY KEY NOT NULL,
  "status" text DEFAULT 'pending' NOT NULL,
  "target_repo" text,
  "requested_by" text DEFAULT '' NOT NULL,
  "reason" text DEFAULT '' NOT NULL,
  "created_at" timestamp with time zone DEFAULT now() NOT NULL,
  "claimed_at" timestamp with time zone,
  "run_id" integer
);
--> statement-breakpoint
ALTER TABLE "backup_run_requests"
  ADD COLUMN IF NOT EXISTS "status" text DEFAULT 'pending' NOT NULL,
  ALTER COLUMN "status" SET DEFAULT 'pending',
  ADD COLUMN IF NOT EXISTS "target_repo" text,
  ADD COLUMN IF NOT EXISTS "requested_by" text DEFAULT '' NOT NULL,
  ALTER COLUMN "requested_by" SET DEFAULT '',
  ADD COLUMN IF NOT EXISTS "reason" text DEFAULT '' NOT NULL,
  ALTER COLUMN "reason" SET DEFAULT '',
  ADD COLUMN IF NOT EXISTS "created_at" timestamp with time zone DEFAULT now() NOT NULL,
  ALTER COLUMN "created_at" SET DEFAULT now(),
  ADD COLUMN IF NOT EXISTS "claimed_at" timestamp with time zone,
  ADD COLUMN IF NOT EXISTS "run_id" integer;
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "worker_repo_state" (
  "repo_full_name" text PRIMARY KEY NOT NULL,
  "archive_key" text DEFAULT '',
  "archive_sha256" text DEFAULT '',
  "last_commit_hash" text DEFAULT '',
  "updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "worker_repo_state"
  ADD COLUMN IF NOT EXISTS "archive_key" text DEFAULT '',
  ALTER COLUMN "archive_key" SET DEFAULT '',
  ADD COLUMN IF NOT EXISTS "archive_sha256" text DEFAULT '',
  ALTER COLUMN "archive_sha256" SET DEFAULT '',
  ADD COLUMN IF NOT EXISTS "last_commit_hash" text DEFAULT '',
  ALTER COLUMN "last_commit_hash" SET DEFAULT '',
  ADD COLUMN IF NOT EXISTS "updated_at" timestamp with time zone DEFAULT now() NOT NULL,
  ALTER COLUMN "updated_at" SET DEFAULT now();
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "users" (
  "username" text PRIMARY KEY NOT NULL,
  "password_hash" text NOT NULL,
  "created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "execution_log_counts" (
  "id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  "hour" timestamp with time zone NOT NULL,
  "run_key" bigint NOT NULL,
  "level" text NOT NULL,
  "log_count" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "backup_result_totals" (
  "id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  "run_key" bigint NOT NULL,
  "archive_size_bytes" numeric NOT NULL
);
--> statement-breakpoint
-- Rows without a time sort last.
UPDATE "backup_runs" SET "started_at" = 'epoch' WHERE "started_at" IS NULL;
UPDATE "backup_results" SET "created_at" = 'epoch' WHERE "created_at" IS NULL;
UPDATE "execution_logs" SET "created_at" = 'epoch' WHERE "created_at" IS NULL;
UPDATE "analytics_snapshots" SET "captured_at" = 'epoch' WHERE "captured_at" IS NULL;
UPDATE "backup_fixes" SET "created_at" = 'epoch' WHERE "created_at" IS NULL;
--> statement-breakpoint
ALTER TABLE "backup_runs" ALTER COLUMN "started_at" SET NOT NULL;
ALTER TABLE "backup_results" ALTER COLUMN "created_at" SET NOT NULL;
ALTER TABLE "execution_logs" ALTER COLUMN "created_at" SET NOT NULL;
ALTER TABLE "analytics_snapshots" ALTER COLUMN "captured_at" SET NOT NULL;
ALTER TABLE "backup_fixes" ALTER COLUMN "created_at" SET NOT NULL;
--> statement-breakpoint
-- Older writers made log ids of type int. Their sequence, owned by the column or not, has a limit of its
-- own.
DO $$
DECLARE
  numbers regclass;
BEGIN
  IF (SELECT atttypid FROM pg_attribute WHERE attrelid = 'execution_logs'::regclass AND attname = 'id') <> 'bigint'::regtype THEN
    ALTER TABLE "execution_logs" ALTER COLUMN "id" TYPE bigint;
  END IF;
  FOR numbers IN
    SELECT sequence.seqrelid FROM pg_attribute AS id
    JOIN pg_attrdef AS fallback ON fallback.adrelid = id.attrelid AND fallback.adnum = id.attnum
    JOIN pg_depend AS used ON used.classid = 'pg_attrdef'::regclass AND used.objid = fallback.oid
    JOIN pg_sequence AS sequence ON used.refclassid = 'pg_class'::regclass AND sequence.seqrelid = used.refobjid
    WHERE id.attrelid = 'execution_logs'::regclass AND id.attname = 'id'
      AND sequence.seqtypid <> 'bigint'::regtype
  LOOP
    EXECUTE 'ALTER SEQUENCE ' || numbers || ' AS bigint';
  END LOOP;
END $$;
--> statement-breakpoint
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = 'backup_runs'::regclass AND conname = 'backup_runs_exclusive_key_unique') THEN
    ALTER TABLE "backup_runs" ADD CONSTRAINT "backup_runs_exclusive_key_unique" UNIQUE ("exclusive_key");
  END IF;
END $$;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "analytics_snapshots_newest" ON "analytics_snapshots" ("captured_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);
CREATE INDEX IF NOT EXISTS "analytics_snapshots_newest_of_run" ON "analytics_snapshots" ("run_id","captured_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);
CREATE INDEX IF NOT EXISTS "backup_fixes_newest" ON "backup_fixes" ("created_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);
CREATE INDEX IF NOT EXISTS "backup_result_totals_of_run" ON "backup_result_totals" ("run_key");
CREATE INDEX IF NOT EXISTS "backup_results_of_run" ON "backup_results" ("run_id","id");
CREATE INDEX IF NOT EXISTS "backup_results_newest_of_repo" ON "backup_results" ("repo_full_name","created_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);
CREATE INDEX IF NOT EXISTS "backup_results_largest" ON "backup_results" ("archive_size_bytes" DESC NULLS LAST,"id" DESC NULLS FIRST);
CREATE INDEX IF NOT EXISTS "backup_run_fixes_of_fix" ON "backup_run_fixes" ("fix_id","run_id");
CREATE INDEX IF NOT EXISTS "backup_run_requests_pending" ON "backup_run_requests" ("id") WHERE status = 'pending';
CREATE INDEX IF NOT EXISTS "backup_run_requests_of_run" ON "backup_run_requests" ("run_id");
CREATE INDEX IF NOT EXISTS "backup_runs_newest" ON "backup_runs" ("started_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);
CREATE INDEX IF NOT EXISTS "backup_runs_running" ON "backup_runs" ("id") WHERE status = 'running';
CREATE INDEX IF NOT EXISTS "execution_log_counts_of_run" ON "execution_log_counts" ("run_key","level","hour");
CREATE INDEX IF NOT EXISTS "execution_log_counts_of_level" ON "execution_log_counts" ("level","hour","run_key");
CREATE INDEX IF NOT EXISTS "execution_logs_newest" ON "execution_logs" ("created_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);
CREATE INDEX IF NOT EXISTS "execution_logs_newest_of_level" ON "execution_logs" (lower(level),"created_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);
CREATE INDEX IF NOT EXISTS "execution_logs_newest_of_run" ON "execution_logs" ("run_id","created_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);
CREATE INDEX IF NOT EXISTS "execution_logs_newest_of_run_and_level" ON "execution_logs" ("run_id",lower(level),"created_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);

-- The versions of each archive, and a ledger of where every branch and tag pointed: a row for as long as it stayed the same.
CREATE TABLE IF NOT EXISTS "archive_versions" (
  "repo_full_name" text NOT NULL,
  "version" integer NOT NULL,
  "run_id" integer,
  "created_at" timestamp with time zone DEFAULT now() NOT NULL,
  "head_branch" text,
  "ref_count" integer DEFAULT 0 NOT NULL,
  "refs_sha256" text DEFAULT '' NOT NULL,
  "manifest_sha256" text DEFAULT '' NOT NULL,
  "archive_key" text DEFAULT '' NOT NULL,
  "files" integer DEFAULT 1 NOT NULL,
  "size_bytes" bigint DEFAULT 0 NOT NULL,
  "new_bytes" bigint DEFAULT 0 NOT NULL,
  "warning" text,
  "pruned_at" timestamp with time zone,
  CONSTRAINT "archive_versions_pkey" PRIMARY KEY("repo_full_name","version")
);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "archive_versions_newest_of_repo" ON "archive_versions" USING btree (lower(repo_full_name),"version" DESC NULLS FIRST);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "archive_refs" (
  "id" bigserial PRIMARY KEY NOT NULL,
  "repo_full_name" text NOT NULL,
  "name" text NOT NULL,
  "object_id" text NOT NULL,
  "from_version" integer NOT NULL,
  "to_version" integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "archive_refs_of_repo" ON "archive_refs" USING btree ("repo_full_name","name" COLLATE "C","from_version");
--> statement-breakpoint
-- What a good archive does not hold, and how often a backup was tried.
ALTER TABLE "backup_results" ADD COLUMN IF NOT EXISTS "incomplete" text;
--> statement-breakpoint
ALTER TABLE "backup_results" ADD COLUMN IF NOT EXISTS "tries" integer;
--> statement-breakpoint
-- What the worker is at, while a run is under way.
ALTER TABLE "backup_runs" ADD COLUMN IF NOT EXISTS "progress" jsonb;

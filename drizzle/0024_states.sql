-- What started a run, and where each repository was read last.
ALTER TABLE "backup_runs" ADD COLUMN IF NOT EXISTS "schedule_ms" bigint;
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "repository_sources" (
  "repo_full_name" text PRIMARY KEY NOT NULL,
  "address" text NOT NULL,
  "seen_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "repository_sources_of_repo" ON "repository_sources" USING btree (lower(repo_full_name));

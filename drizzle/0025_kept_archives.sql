-- Whether each archive was there when a run last looked, and since when a file of it is missing.
ALTER TABLE "worker_repo_state" ADD COLUMN IF NOT EXISTS "archive_seen_at" timestamp with time zone;
--> statement-breakpoint
ALTER TABLE "worker_repo_state" ADD COLUMN IF NOT EXISTS "archive_seen_by" text;
--> statement-breakpoint
ALTER TABLE "worker_repo_state" ADD COLUMN IF NOT EXISTS "archive_missing_since" timestamp with time zone;
--> statement-breakpoint
ALTER TABLE "worker_repo_state" ADD COLUMN IF NOT EXISTS "archive_missing" text;
--> statement-breakpoint
-- How bad it is that a repository joins an incident: a loss is told at once.
ALTER TABLE "incident_repositories" ADD COLUMN IF NOT EXISTS "severity" integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
-- Sources that a run could not read and that never were read.
ALTER TABLE "backup_runs" ADD COLUMN IF NOT EXISTS "unread_sources" jsonb;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "worker_repo_state_missing" ON "worker_repo_state" USING btree (lower(repo_full_name)) WHERE archive_missing_since IS NOT NULL;

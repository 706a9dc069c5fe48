-- The state of each repository: an unchanged repository leaves no result, so the worker notes when it found it good.
ALTER TABLE "worker_repo_state" ADD COLUMN IF NOT EXISTS "checked_at" timestamp with time zone;
--> statement-breakpoint
-- The last good result of a repository that fails, however long it has failed, and the last run without failures.
CREATE INDEX IF NOT EXISTS "backup_results_newest_archived_of_repo" ON "backup_results" USING btree ("repo_full_name","created_at" DESC NULLS FIRST,"id" DESC NULLS FIRST) WHERE status IN ('completed', 'success');
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "backup_results_newest_empty_of_repo" ON "backup_results" USING btree ("repo_full_name","created_at" DESC NULLS FIRST,"id" DESC NULLS FIRST) WHERE status = 'empty';
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "backup_runs_good" ON "backup_runs" USING btree ("started_at" DESC NULLS FIRST,"id" DESC NULLS FIRST) WHERE status IN ('completed', 'success') AND coalesce(failed, 0) = 0;

-- The latest failed run, and the newest logs of a repository, of all levels or of one.
CREATE INDEX IF NOT EXISTS "backup_runs_failed" ON "backup_runs" USING btree ("started_at" DESC NULLS FIRST,"id" DESC NULLS FIRST) WHERE status = 'failed' OR failed > 0;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "execution_logs_newest_of_repository" ON "execution_logs" USING btree (left(lower(repository), 256),lower(level),"created_at" DESC NULLS FIRST,"id" DESC NULLS FIRST) WHERE repository IS NOT NULL;

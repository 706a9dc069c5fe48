-- Finds the last failed drill of a repository, whatever the case of its name.
CREATE INDEX IF NOT EXISTS "restore_drills_failures" ON "restore_drills" USING btree (lower(repository_name),"id") WHERE outcome = 'failed';
--> statement-breakpoint
DROP INDEX IF EXISTS "restore_drills_failed";

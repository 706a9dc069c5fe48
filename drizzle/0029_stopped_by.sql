-- Which signal ended the worker of a run. So far only the error message said it.
ALTER TABLE "backup_runs" ADD COLUMN IF NOT EXISTS "stopped_by" text;
--> statement-breakpoint
UPDATE "backup_runs"
SET "stopped_by" = substring("error_message" FROM '^interrupted by (SIG(?:INT|TERM|HUP))(?:$| \(on )')
WHERE "stopped_by" IS NULL AND "status" = 'failed' AND "error_message" LIKE 'interrupted by SIG%';

-- Facts that only sentences told so far: why a run or a store failed, what is missing of an archive, and what it lacks.
ALTER TABLE "host_logins" ADD COLUMN IF NOT EXISTS "refused_run_id" integer;
--> statement-breakpoint
ALTER TABLE "archive_stores" ADD COLUMN IF NOT EXISTS "fault" text;
--> statement-breakpoint
ALTER TABLE "worker_repo_state" ADD COLUMN IF NOT EXISTS "archive_missing_kind" text;
--> statement-breakpoint
ALTER TABLE "backup_results" ADD COLUMN IF NOT EXISTS "lacks" jsonb;
--> statement-breakpoint
ALTER TABLE "backup_runs" ADD COLUMN IF NOT EXISTS "fault" text;
--> statement-breakpoint
UPDATE "host_logins" SET "refused_run_id" = (
  SELECT "id" FROM "backup_runs" AS run
  WHERE run."status" = 'failed' AND run."error_message" = "host_logins"."reason"
  ORDER BY run."started_at" DESC, run."id" DESC LIMIT 1
)
WHERE "refused_since" IS NOT NULL AND "refused_run_id" IS NULL;
--> statement-breakpoint
UPDATE "archive_stores"
SET "fault" = CASE WHEN "reason" ~ '^(not pushed: )?not reached: ' THEN 'unreached' ELSE 'lacking' END
WHERE "failing_since" IS NOT NULL AND "fault" IS NULL;
--> statement-breakpoint
UPDATE "worker_repo_state" SET "archive_missing_kind" = CASE
  WHEN "archive_missing" LIKE 'the archive folder % has none of its % archives: %' THEN 'folder'
  WHEN "archive_missing" ~ '^\S+\.(\d+\.bundle|versions/\d+\.json) (is missing|has another size)'
    AND coalesce("archive_key", '') <> '' AND NOT starts_with("archive_missing", "archive_key" || ' ') THEN 'part'
  ELSE 'bundle' END
WHERE "archive_missing_since" IS NOT NULL AND "archive_missing_kind" IS NULL;
--> statement-breakpoint
UPDATE "backup_results" SET "lacks" = jsonb_strip_nulls(jsonb_build_object(
  'lfs', nullif(regexp_replace("incomplete", '(; )?Submodules: .*$', ''), ''),
  'submodules', substring("incomplete" FROM 'Submodules: .*$')
))
WHERE "incomplete" <> '' AND "lacks" IS NULL;
--> statement-breakpoint
UPDATE "backup_runs" SET "fault" = CASE
  WHEN "error_message" = 'The backup worker stopped without finishing this run.' THEN 'stale'
  ELSE 'no_archives' END
WHERE "status" = 'failed' AND "fault" IS NULL AND (
  "error_message" = 'The backup worker stopped without finishing this run.'
  OR "error_message" LIKE 'the archive folder % has none of its % archives: %'
);

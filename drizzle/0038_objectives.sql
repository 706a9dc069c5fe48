-- Objectives of groups of repositories, and when runs found each repository good. A run that finds a repository
-- unchanged adds no result; so far only its log line said when.
CREATE TABLE IF NOT EXISTS "objectives" (
  "id" serial PRIMARY KEY NOT NULL,
  "name" text NOT NULL,
  "patterns" text[] NOT NULL,
  "position" integer DEFAULT 0 NOT NULL,
  "rpo_hours" integer,
  "rto_minutes" integer,
  "created_at" timestamp with time zone DEFAULT now() NOT NULL,
  "changed_by" text DEFAULT '' NOT NULL,
  CONSTRAINT "objectives_some" CHECK (rpo_hours IS NOT NULL OR rto_minutes IS NOT NULL)
);
--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "objectives_by_name" ON "objectives" USING btree (lower(name));
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "repository_checks" (
  "id" serial PRIMARY KEY NOT NULL,
  "repo_full_name" text NOT NULL,
  "since" timestamp with time zone NOT NULL,
  "until" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "repository_checks_newest" ON "repository_checks" USING btree ("repo_full_name","until" DESC NULLS FIRST);
--> statement-breakpoint
INSERT INTO "repository_checks" ("repo_full_name", "since", "until")
SELECT repository, created_at, created_at FROM execution_logs AS log
WHERE log.created_at > now() - interval '100 days' AND log.message = 'unchanged, skipped'
  AND log.repository IS NOT NULL AND NOT EXISTS (SELECT FROM repository_checks)
UNION ALL
SELECT repo_full_name, checked_at, checked_at FROM worker_repo_state
WHERE isfinite(checked_at) AND NOT EXISTS (SELECT FROM repository_checks);

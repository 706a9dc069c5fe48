-- Why a repository failed, in a word, so that one that is gone at its source is told from one that fails.
ALTER TABLE "backup_results" ADD COLUMN IF NOT EXISTS "fault" text;
--> statement-breakpoint
-- What a person should look at before older versions are let go.
CREATE TABLE IF NOT EXISTS "anomalies" (
  "id" bigserial PRIMARY KEY NOT NULL,
  "repo_full_name" text,
  "run_id" integer,
  "version" integer,
  "kind" text NOT NULL,
  "change_count" integer DEFAULT 1 NOT NULL,
  "before" jsonb DEFAULT '{}'::jsonb NOT NULL,
  "after" jsonb DEFAULT '{}'::jsonb NOT NULL,
  "seen_at" timestamp with time zone DEFAULT now() NOT NULL,
  "confirmed_at" timestamp with time zone,
  "confirmed_by" text
);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "anomalies_newest" ON "anomalies" USING btree ("seen_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "anomalies_of_repo" ON "anomalies" USING btree (lower(repo_full_name),"seen_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);
--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "anomalies_of_version" ON "anomalies" USING btree ("repo_full_name","version","kind");
--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "anomalies_of_run" ON "anomalies" USING btree ("run_id","kind") WHERE repo_full_name IS NULL;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "anomalies_open" ON "anomalies" USING btree ("seen_at" DESC NULLS FIRST,"id" DESC NULLS FIRST) WHERE confirmed_at IS NULL;
--> statement-breakpoint
-- Versions that hold back older ones already. What differed is in their warning alone.
INSERT INTO "anomalies" ("repo_full_name", "run_id", "version", "kind", "after", "seen_at")
SELECT "repo_full_name", "run_id", "version", 'noted', jsonb_build_object('warning', left("warning", 1000)), "created_at"
FROM "archive_versions" WHERE "warning" IS NOT NULL AND "pruned_at" IS NULL
ORDER BY "created_at", "repo_full_name", "version"
ON CONFLICT DO NOTHING;
--> statement-breakpoint
-- What the last discovery saw on the git host.
CREATE TABLE IF NOT EXISTS "coverage" (
  "name" text PRIMARY KEY NOT NULL,
  "run_id" integer NOT NULL,
  "seen_at" timestamp with time zone DEFAULT now() NOT NULL,
  "plan" text NOT NULL,
  "reason" text DEFAULT '' NOT NULL,
  "facts" jsonb DEFAULT '{}'::jsonb NOT NULL
);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "coverage_by_name" ON "coverage" USING btree (lower(name));

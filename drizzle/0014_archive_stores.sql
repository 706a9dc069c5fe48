-- Which store away from the worker's machine has which version of a repository's archive, or why it has not.
CREATE TABLE IF NOT EXISTS "archive_stores" (
  "repo_full_name" text NOT NULL,
  "store" text NOT NULL,
  "version" integer,
  "stored_at" timestamp with time zone,
  "failing_since" timestamp with time zone,
  "reason" text DEFAULT '' NOT NULL,
  CONSTRAINT "archive_stores_repo_full_name_store_pk" PRIMARY KEY("repo_full_name","store")
);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "archive_stores_repo_idx" ON "archive_stores" USING btree (lower("repo_full_name"));

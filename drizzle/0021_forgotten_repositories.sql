-- Repositories that somebody has given up.
CREATE TABLE IF NOT EXISTS "forgotten_repositories" (
  "repo_full_name" text PRIMARY KEY NOT NULL,
  "result_id" bigint NOT NULL,
  "checked_at" timestamp with time zone,
  "forgotten_at" timestamp with time zone DEFAULT now() NOT NULL,
  "forgotten_by" text DEFAULT '' NOT NULL
);

-- A run that several workers share: its members, and its repositories as jobs that they claim.
CREATE TABLE IF NOT EXISTS "run_members" (
  "run_id" integer NOT NULL,
  "id" text NOT NULL,
  "machine" text NOT NULL,
  "host_name" text DEFAULT '' NOT NULL,
  "git_host_url" text DEFAULT '' NOT NULL,
  "is_starter" boolean DEFAULT false NOT NULL,
  "seen_at" timestamp with time zone DEFAULT now() NOT NULL,
  "progress" jsonb,
  CONSTRAINT "run_members_pkey" PRIMARY KEY("run_id","id")
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "run_jobs" (
  "id" bigserial PRIMARY KEY NOT NULL,
  "run_id" integer NOT NULL,
  "kind" text NOT NULL,
  "repository" text NOT NULL,
  "position" integer DEFAULT 0 NOT NULL,
  "expected_ms" bigint,
  "facts" jsonb DEFAULT '{}'::jsonb NOT NULL,
  "host" text,
  "git_host_url" text,
  "only_member" text,
  "preferred_machine" text,
  "state" text DEFAULT 'open' NOT NULL,
  "claimed_by" text,
  "lease_until" timestamp with time zone DEFAULT '-infinity' NOT NULL,
  "tries" integer DEFAULT 0 NOT NULL,
  "created_at" timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT "run_jobs_kind_check" CHECK (kind IN ('repository', 'left_out', 'found', 'end')),
  CONSTRAINT "run_jobs_state_check" CHECK (state IN ('open', 'done'))
);
--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "run_jobs_of_repository" ON "run_jobs" USING btree ("run_id","kind","repository");
--> statement-breakpoint
-- Claims look for the first open job, of those that prefer the machine and then of all.
CREATE INDEX IF NOT EXISTS "run_jobs_open" ON "run_jobs" USING btree ("run_id","kind","position") WHERE state = 'open';
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "run_jobs_preferred" ON "run_jobs" USING btree ("run_id","preferred_machine","position") WHERE state = 'open';
--> statement-breakpoint
-- The token in the archive folder that all members of a run must see.
ALTER TABLE "backup_runs" ADD COLUMN IF NOT EXISTS "fleet_token" text;
--> statement-breakpoint
-- The machine whose mirror was used last.
ALTER TABLE "worker_repo_state" ADD COLUMN IF NOT EXISTS "mirror_machine" text;

-- The ledger of restore drills. Its triggers are in functions/restore-drills.sql.
CREATE TABLE IF NOT EXISTS "restore_drills" (
  "id" bigserial PRIMARY KEY NOT NULL,
  "repository_name" text NOT NULL,
  "version" integer,
  "storage" text NOT NULL,
  "started_at" timestamp with time zone NOT NULL,
  "duration_ms" bigint NOT NULL,
  "bytes" bigint NOT NULL,
  "outcome" text NOT NULL,
  "reason" text,
  "evidence" jsonb NOT NULL,
  "previous_sha256" text NOT NULL,
  "sha256" text NOT NULL,
  CONSTRAINT "restore_drills_outcome" CHECK (outcome IN ('proven', 'failed', 'incomplete')),
  CONSTRAINT "restore_drills_reason" CHECK ((outcome = 'proven') = (reason IS NULL))
);
--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "restore_drills_chain" ON "restore_drills" USING btree ("previous_sha256");
--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "restore_drills_once" ON "restore_drills" USING btree ("repository_name","started_at");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "restore_drills_of_repo" ON "restore_drills" USING btree (lower(repository_name),"started_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "restore_drills_proofs" ON "restore_drills" USING btree (lower(repository_name),"started_at" DESC NULLS FIRST,"id" DESC NULLS FIRST) WHERE outcome = 'proven';
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "restore_drills_newest" ON "restore_drills" USING btree ("started_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);
--> statement-breakpoint
-- Which repository a worker drills at the moment.
CREATE TABLE IF NOT EXISTS "restore_drill_claims" (
  "repository_name" text PRIMARY KEY NOT NULL,
  "holder" text NOT NULL,
  "until" timestamp with time zone NOT NULL
);

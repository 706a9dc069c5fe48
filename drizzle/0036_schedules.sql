-- When the server starts runs, and who asked a run to stop.
CREATE TABLE IF NOT EXISTS "schedules" (
  "id" bigserial PRIMARY KEY NOT NULL,
  "timing" text NOT NULL,
  "time_zone" text NOT NULL,
  "interval_ms" bigint NOT NULL,
  "sources" jsonb,
  "paused_at" timestamp with time zone,
  "since" timestamp with time zone DEFAULT now() NOT NULL,
  "created_at" timestamp with time zone DEFAULT now() NOT NULL,
  "created_by" text DEFAULT '' NOT NULL,
  "variable_of" text,
  "next_at" timestamp with time zone,
  "claimed_for" timestamp with time zone,
  "claimed_by" text
);
--> statement-breakpoint
ALTER TABLE "backup_runs" ADD COLUMN IF NOT EXISTS "schedule_id" bigint;
--> statement-breakpoint
ALTER TABLE "backup_runs" ADD COLUMN IF NOT EXISTS "covers_all" boolean;
--> statement-breakpoint
ALTER TABLE "backup_runs" ADD COLUMN IF NOT EXISTS "stop_requested_by" text;
--> statement-breakpoint
ALTER TABLE "backup_runs" ADD COLUMN IF NOT EXISTS "stop_requested_at" timestamp with time zone;
--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "schedules_of_variable" ON "schedules" USING btree ("variable_of") WHERE variable_of IS NOT NULL;

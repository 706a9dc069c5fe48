-- When messages wait, what is muted, planned work, and the summaries that tell what was held.
CREATE TABLE IF NOT EXISTS "alert_notices" (
  "id" bigserial PRIMARY KEY NOT NULL,
  "kind" text NOT NULL,
  "about_at" timestamp with time zone NOT NULL,
  "channel" text NOT NULL,
  "held_by" text,
  "created_at" timestamp with time zone DEFAULT now() NOT NULL,
  "attempts" integer DEFAULT 0 NOT NULL,
  "unclear" integer DEFAULT 0 NOT NULL,
  "claimed_until" timestamp with time zone DEFAULT '-infinity' NOT NULL,
  "claimed_by" text,
  "next_attempt_at" timestamp with time zone DEFAULT '-infinity' NOT NULL,
  "delivered_at" timestamp with time zone,
  "given_up_at" timestamp with time zone,
  "last_error" text
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "maintenance_windows" (
  "id" bigserial PRIMARY KEY NOT NULL,
  "note" text NOT NULL,
  "starts_at" timestamp with time zone NOT NULL,
  "ends_at" timestamp with time zone NOT NULL,
  "repeats" text,
  "time_zone" text NOT NULL,
  "created_by" text NOT NULL,
  "created_at" timestamp with time zone DEFAULT now() NOT NULL,
  "removed_at" timestamp with time zone,
  "removed_by" text,
  CONSTRAINT "maintenance_windows_repeats_check" CHECK (repeats IN ('daily', 'weekly'))
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "mutes" (
  "id" bigserial PRIMARY KEY NOT NULL,
  "scope" text NOT NULL,
  "repository_name" text,
  "incident_id" bigint,
  "until" timestamp with time zone NOT NULL,
  "created_by" text NOT NULL,
  "created_at" timestamp with time zone DEFAULT now() NOT NULL,
  "ended_at" timestamp with time zone,
  "ended_by" text,
  CONSTRAINT "mutes_scope_check" CHECK (scope IN ('all', 'repository', 'incident'))
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "quiet_hours" (
  "id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
  "from_time" time NOT NULL,
  "to_time" time NOT NULL,
  "time_zone" text NOT NULL,
  "days" integer[] NOT NULL,
  "critical_passes" boolean NOT NULL,
  "updated_by" text NOT NULL,
  "updated_at" timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT "quiet_hours_one_row" CHECK (id = 1)
);
--> statement-breakpoint
ALTER TABLE "alert_deliveries" ADD COLUMN IF NOT EXISTS "held_by" text;
--> statement-breakpoint
ALTER TABLE "alert_deliveries" ADD COLUMN IF NOT EXISTS "notice_id" bigint;
--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "alert_notices_once" ON "alert_notices" USING btree ("kind","about_at","channel");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "alert_notices_open" ON "alert_notices" USING btree ("channel","id") WHERE delivered_at IS NULL AND given_up_at IS NULL;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "maintenance_windows_in_use" ON "maintenance_windows" USING btree ("ends_at") WHERE removed_at IS NULL;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "mutes_by_end" ON "mutes" USING btree ("until") WHERE ended_at IS NULL;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "alert_deliveries_of_notice" ON "alert_deliveries" USING btree ("notice_id") WHERE notice_id IS NOT NULL;

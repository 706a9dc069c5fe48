-- What somebody should know, whom it concerns, and which message about it went where.
CREATE TABLE IF NOT EXISTS "incidents" (
  "id" bigserial PRIMARY KEY NOT NULL,
  "rule" text NOT NULL,
  "subject" text DEFAULT '' NOT NULL,
  "summary" text DEFAULT '' NOT NULL,
  "details" jsonb DEFAULT '{}'::jsonb NOT NULL,
  "opened_at" timestamp with time zone DEFAULT now() NOT NULL,
  "last_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
  "clear_since" timestamp with time zone,
  "reminded_at" timestamp with time zone,
  "acknowledged_at" timestamp with time zone,
  "acknowledged_by" text,
  "resolved_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "alert_deliveries" (
  "id" bigserial PRIMARY KEY NOT NULL,
  "incident_id" bigint NOT NULL,
  "kind" text NOT NULL,
  "about_at" timestamp with time zone NOT NULL,
  "channel" text NOT NULL,
  "created_at" timestamp with time zone DEFAULT now() NOT NULL,
  "attempts" integer DEFAULT 0 NOT NULL,
  "unclear" integer DEFAULT 0 NOT NULL,
  "claimed_until" timestamp with time zone DEFAULT '-infinity' NOT NULL,
  "claimed_by" text,
  "next_attempt_at" timestamp with time zone DEFAULT '-infinity' NOT NULL,
  "delivered_at" timestamp with time zone,
  "given_up_at" timestamp with time zone,
  "last_error" text,
  CONSTRAINT "alert_deliveries_kind_check" CHECK (kind IN ('opened', 'reminder', 'resolved')),
  CONSTRAINT "alert_deliveries_incident_id_fkey" FOREIGN KEY ("incident_id") REFERENCES "incidents"("id") ON DELETE CASCADE
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "alert_evaluation" (
  "id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
  "evaluation" bigint DEFAULT 0 NOT NULL,
  "evaluated_at" timestamp with time zone,
  CONSTRAINT "alert_evaluation_one_row" CHECK (id = 1)
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "archive_disks" (
  "machine" text PRIMARY KEY NOT NULL,
  "host_name" text DEFAULT '' NOT NULL,
  "measured_at" timestamp with time zone DEFAULT now() NOT NULL,
  "free_bytes" bigint NOT NULL,
  "total_bytes" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "host_logins" (
  "git_host_url" text PRIMARY KEY NOT NULL,
  "seen_at" timestamp with time zone DEFAULT now() NOT NULL,
  "expires_at" timestamp with time zone,
  "refused_since" timestamp with time zone,
  "reason" text DEFAULT '' NOT NULL
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "incident_repositories" (
  "incident_id" bigint NOT NULL,
  "repository_name" text NOT NULL,
  "reason" text DEFAULT '' NOT NULL,
  "since" timestamp with time zone,
  "joined_at" timestamp with time zone DEFAULT now() NOT NULL,
  "resolved_at" timestamp with time zone,
  CONSTRAINT "incident_repositories_pkey" PRIMARY KEY("incident_id","repository_name"),
  CONSTRAINT "incident_repositories_incident_id_fkey" FOREIGN KEY ("incident_id") REFERENCES "incidents"("id") ON DELETE CASCADE
);
--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "alert_deliveries_once" ON "alert_deliveries" USING btree ("incident_id","kind","about_at","channel");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "alert_deliveries_open" ON "alert_deliveries" USING btree ("channel","id") WHERE delivered_at IS NULL AND given_up_at IS NULL;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "incident_repositories_by_name" ON "incident_repositories" USING btree (lower(repository_name),"incident_id");
--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "incidents_open" ON "incidents" USING btree ("rule","subject") WHERE resolved_at IS NULL;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "incidents_newest" ON "incidents" USING btree ("opened_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "incidents_of_rule" ON "incidents" USING btree ("rule","opened_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "incidents_resolved" ON "incidents" USING btree ("resolved_at" DESC NULLS FIRST) WHERE resolved_at IS NOT NULL;

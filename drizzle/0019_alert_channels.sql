-- Ways to tell people of incidents that were added on the dashboard.
CREATE TABLE IF NOT EXISTS "alert_channels" (
  "id" uuid PRIMARY KEY NOT NULL,
  "name" text NOT NULL,
  "kind" text NOT NULL,
  "sealed_address" text NOT NULL,
  "place" text NOT NULL,
  "created_by" text NOT NULL,
  "created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "alert_channels_by_name" ON "alert_channels" USING btree (lower(name));

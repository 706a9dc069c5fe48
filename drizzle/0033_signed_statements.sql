-- Keys that sign the results of restore drills, and the signed statements. Their triggers are in
-- functions/restore-drills.sql.
CREATE TABLE IF NOT EXISTS "drill_statements" (
  "drill_id" bigint PRIMARY KEY NOT NULL,
  "key_id" text NOT NULL,
  "statement" text NOT NULL,
  "envelope_signature" text NOT NULL,
  "statement_signature" text NOT NULL,
  "signed_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "signing_keys" (
  "id" text PRIMARY KEY NOT NULL,
  "public_key" text NOT NULL,
  "sealed_private_key" text,
  "after_drill" bigint NOT NULL,
  "created_by" text DEFAULT '' NOT NULL,
  "created_at" timestamp with time zone DEFAULT now() NOT NULL,
  "retired_at" timestamp with time zone
);
--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "signing_keys_current" ON "signing_keys" USING btree ((retired_at IS NULL)) WHERE retired_at IS NULL;

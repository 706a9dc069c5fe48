-- What anyone may see of the backups who knows the address of a badge.
CREATE TABLE IF NOT EXISTS "badges" (
  "id" bigserial PRIMARY KEY NOT NULL,
  "token_sha256" text NOT NULL,
  "repository_name" text,
  "created_at" timestamp with time zone DEFAULT now() NOT NULL,
  "created_by" text DEFAULT '' NOT NULL,
  "revoked_at" timestamp with time zone
);
--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "badges_by_token" ON "badges" USING btree ("token_sha256");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "badges_in_use" ON "badges" USING btree ("id" DESC NULLS FIRST) WHERE revoked_at IS NULL;

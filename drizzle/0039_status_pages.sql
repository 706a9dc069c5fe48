-- Public pages with the state of some repositories.
CREATE TABLE IF NOT EXISTS "status_pages" (
  "id" bigserial PRIMARY KEY NOT NULL,
  "address_sha256" text NOT NULL,
  "address" text,
  "title" text NOT NULL,
  "shows" jsonb NOT NULL,
  "created_by" text NOT NULL,
  "created_at" timestamp with time zone DEFAULT now() NOT NULL,
  "revoked_at" timestamp with time zone
);
--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "status_pages_by_address" ON "status_pages" USING btree ("address_sha256") WHERE revoked_at IS NULL;

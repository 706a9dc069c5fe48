-- What is backed up, as chosen on the page or with `worker sources`.
CREATE TABLE IF NOT EXISTS "sources" (
	"id" serial PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"address" text DEFAULT '' NOT NULL,
	"key" text NOT NULL,
	"exclude" text[] DEFAULT '{}' NOT NULL,
	"paused_at" timestamp with time zone,
	"paused_by" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"created_by" text DEFAULT '' NOT NULL,
	CONSTRAINT "sources_kind_check" CHECK (kind IN ('login', 'folder', 'address'))
);
--> statement-breakpoint
-- Which source names each repository.
ALTER TABLE "repository_sources" ADD COLUMN IF NOT EXISTS "named_by" text;
--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "sources_by_key" ON "sources" USING btree ("key");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "repository_sources_by_source" ON "repository_sources" USING btree ("named_by");

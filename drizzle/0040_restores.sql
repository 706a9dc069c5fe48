CREATE TABLE IF NOT EXISTS "restores" (
	"id" bigserial PRIMARY KEY NOT NULL,
	"repo_full_name" text NOT NULL,
	"version" integer,
	"ref" text,
	"kind" text NOT NULL,
	"target" text NOT NULL,
	"is_bare" boolean DEFAULT false NOT NULL,
	"status" text DEFAULT 'waiting' NOT NULL,
	"step" text,
	"files_done" integer,
	"files" integer,
	"error" text,
	"result" json,
	"requested_by" text NOT NULL,
	"server" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"started_at" timestamp with time zone,
	"ended_at" timestamp with time zone,
	"seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "restores_kind_check" CHECK (kind IN ('folder', 'push')),
	CONSTRAINT "restores_status_check" CHECK (status IN ('waiting', 'running', 'done', 'failed', 'canceled', 'interrupted'))
);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "restores_of_repository" ON "restores" USING btree (lower(repo_full_name),"id" DESC NULLS FIRST);--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "restores_unfinished" ON "restores" USING btree ("server") WHERE ended_at IS NULL;
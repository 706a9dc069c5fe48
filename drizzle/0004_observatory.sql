-- Conversations, gateway keys and the queue of requested runs. queue_key is null in the rows of other
-- writers, so that what they have queued twice neither stops this migration nor themselves.
CREATE TABLE IF NOT EXISTS "chat_sessions" (
  "id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
  "username" text NOT NULL,
  "session_name" text DEFAULT '' NOT NULL,
  "created_at" timestamp with time zone DEFAULT now() NOT NULL,
  "updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "chat_messages" (
  "id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  "session_id" uuid
    CONSTRAINT "chat_messages_session_id_fkey" REFERENCES "chat_sessions"("id") ON DELETE cascade,
  "username" text NOT NULL,
  "role" text NOT NULL,
  "content" text NOT NULL,
  "request_id" text NOT NULL,
  "status" text,
  "tool_calls" jsonb DEFAULT '[]'::jsonb NOT NULL,
  "created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "gateway_connections" (
  "username" text PRIMARY KEY NOT NULL,
  "encrypted_key" text NOT NULL,
  "key_hint" text NOT NULL,
  "connected_at" timestamp with time zone DEFAULT now() NOT NULL,
  "last_used_at" timestamp with time zone,
  "invalid" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
ALTER TABLE "backup_run_requests" ADD COLUMN IF NOT EXISTS "queue_key" text;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "chat_messages_of_session" ON "chat_messages" USING btree ("session_id","id");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "chat_sessions_of_user" ON "chat_sessions" USING btree ("username","updated_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);
--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "backup_run_requests_queued" ON "backup_run_requests" USING btree ("queue_key") WHERE status = 'pending';

ALTER TABLE "chat_messages" ADD COLUMN IF NOT EXISTS "reasoning" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "chat_messages" ADD COLUMN IF NOT EXISTS "finish_reason" text;

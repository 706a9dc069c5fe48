-- Reports, kept whether or not they were mailed.
CREATE TABLE IF NOT EXISTS "reports" (
  "id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
  "username" text,
  "report_type" text NOT NULL,
  "subject" text NOT NULL,
  "recipients" text[] DEFAULT '{}' NOT NULL,
  "status" text DEFAULT 'generated' NOT NULL,
  "content_markdown" text NOT NULL,
  "content_html" text NOT NULL,
  "created_at" timestamp with time zone DEFAULT now() NOT NULL,
  "sent_at" timestamp with time zone,
  "error_message" text,
  CONSTRAINT "reports_status_check" CHECK (status IN ('generated', 'sent', 'failed'))
);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "reports_of_user" ON "reports" USING btree ("username","created_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);

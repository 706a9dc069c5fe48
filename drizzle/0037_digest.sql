-- When the digest is sent, and to whom.
CREATE TABLE IF NOT EXISTS "digest" (
  "id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
  "every" text NOT NULL,
  "weekday" integer NOT NULL,
  "at_time" time NOT NULL,
  "time_zone" text NOT NULL,
  "channels" text[],
  "mail" boolean NOT NULL,
  "updated_by" text NOT NULL,
  "updated_at" timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT "digest_one_row" CHECK (id = 1),
  CONSTRAINT "digest_every_check" CHECK (every IN ('daily', 'weekly'))
);

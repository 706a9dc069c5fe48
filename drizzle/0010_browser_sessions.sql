-- Browser sessions that were ended before their token expires.
CREATE TABLE IF NOT EXISTS "ended_sessions" (
  "id" text PRIMARY KEY NOT NULL,
  "expires_at" timestamp with time zone NOT NULL
);

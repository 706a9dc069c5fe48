-- Since when each repository has been backed up without a store.
ALTER TABLE "archive_stores" ADD COLUMN IF NOT EXISTS "unused_since" timestamp with time zone;

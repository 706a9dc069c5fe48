-- What the search found for the question of an answer, so that it is shown with the answer later.
ALTER TABLE "chat_messages" ADD COLUMN IF NOT EXISTS "sources" jsonb DEFAULT '[]'::jsonb NOT NULL;

import type { Database } from '../database/database.ts';

const selectActiveModel = {
  name: 'read_active_model',
  text: "SELECT model_id FROM embedding_generations WHERE status = 'ACTIVE'",
};

/** The model of the ACTIVE embedding generation; null when there is none. */
export async function readActiveModelId(db: Database): Promise<string | null> {
  const [active] = await db.query<{ model_id: string }>(selectActiveModel);
  return active?.model_id ?? null;
}

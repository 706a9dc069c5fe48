import type { Database } from '../platform/database/database.ts';
import { AppError } from '../platform/errors.ts';

/**
 * Makes room for vectors where the database has come to have the extension since. Throws
 * SERVICE_UNAVAILABLE with the reason when it has not (decisions 5).
 */
export async function requireVectors(db: Database): Promise<void> {
  const reason = await explainMissingVectors(db);
  if (reason === null) return;
  throw new AppError('SERVICE_UNAVAILABLE', `embeddings are not available: ${reason}`);
}

/** Why the database cannot hold vectors, null when it can. */
export async function explainMissingVectors(db: Database): Promise<string | null> {
  const [row] = await db.query<{ reason: string | null }>({
    name: 'enable_embedding_vectors',
    text: 'SELECT enable_embedding_vectors() AS reason',
  });
  return row?.reason ?? null;
}

import type { Database } from '../database/database.ts';
import { AppError } from '../errors.ts';

/**
 * Enables vectors if the extension has become available. Throws SERVICE_UNAVAILABLE with the reason if not.
 */
export async function requireVectors(db: Database): Promise<void> {
  const reason = await explainMissingVectors(db);
  if (reason === null) return;
  throw new AppError('SERVICE_UNAVAILABLE', `embeddings are not available: ${reason}`);
}

/** Why the database cannot store vectors; null when it can. */
export async function explainMissingVectors(db: Database): Promise<string | null> {
  const [row] = await db.query<{ reason: string | null }>({
    name: 'enable_embedding_vectors',
    text: 'SELECT enable_embedding_vectors() AS reason',
  });
  return row?.reason ?? null;
}

/** Whether the database can store vectors. `installable`: the extension is available, but not installed. */
export type VectorSupport =
  | { state: 'ready'; version: string }
  | { state: 'installable' | 'missing'; version: null };

/** Checks whether the database can store vectors, without changing anything. */
export async function readVectorSupport(db: Database): Promise<VectorSupport> {
  const [found] = await db.query<{ version: string | null; is_ready: boolean; is_there: boolean }>({
    text: `SELECT (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS version,
      EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector') AS is_there,
      EXISTS (
        SELECT FROM pg_attribute
        WHERE attrelid = to_regclass('embedding_chunks') AND attname = 'embedding' AND NOT attisdropped
      ) AS is_ready`,
  });
  if (found?.is_ready) return { state: 'ready', version: found.version ?? '' };
  return { state: found?.is_there ? 'installable' : 'missing', version: null };
}

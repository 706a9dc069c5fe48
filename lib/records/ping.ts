import type { Database } from '../database/database.ts';

const PING_TIMEOUT_MS = 3_000;

/** Resolves if the database answers within 3 seconds; otherwise throws AppError SERVICE_UNAVAILABLE. */
export async function ping(db: Database): Promise<void> {
  await db.query({ name: 'ping', text: 'SELECT 1 AS answer' }, [], { timeoutMs: PING_TIMEOUT_MS });
}

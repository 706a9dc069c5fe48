import { type Database, databaseUnavailable } from '../database/database.ts';

const PING_TIMEOUT_MS = 3_000;

/** Resolves if the database answers within 3 seconds; otherwise throws AppError SERVICE_UNAVAILABLE. */
export async function ping(db: Database): Promise<void> {
  const late = Promise.withResolvers<never>();
  // Waiting for a connection counts too: while others hang, the answer is no.
  const timer = setTimeout(
    () => late.reject(databaseUnavailable(new Error('the database did not answer in time'))),
    PING_TIMEOUT_MS,
  );
  const statement = { name: 'ping', text: 'SELECT 1 AS answer' };
  try {
    await Promise.race([db.query(statement, [], { timeoutMs: PING_TIMEOUT_MS }), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

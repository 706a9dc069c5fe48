import type { Database } from '../../../lib/database/database.ts';
import { sql } from '../../support/records.ts';

/**
 * Resolves when no other connection to the database is left: Postgres ends what a killed process had asked
 * of it, and only then is to be seen what the kill left.
 */
export async function untilAlone(db: Database): Promise<void> {
  const text = `SELECT count(*)::int AS others FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`;
  for (let look = 0; look < 1_000; look += 1) {
    const [row] = await sql<{ others: number }>(db, text);
    if (row?.others === 0) return;
    await new Promise((done) => setTimeout(done, 10));
  }
  throw new Error('a connection of the killed process is still there after 10 seconds');
}

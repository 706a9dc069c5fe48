import type { Database } from '../../../lib/database/database.ts';
import { sql } from '../../support/records.ts';

/**
 * Resolves when no other connection to the database is left. Postgres finishes the statement of a killed process first,
 * and only then can its effect be checked.
 */
export async function untilAlone(db: Database): Promise<void> {
  const text = `SELECT count(*)::int AS others FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`;
  for (let look = 0; look < 1_000; look += 1) {
    const [row] = await sql<{ others: number }>(db, text);
    if (row?.others === 0) return;
    await new Promise((done) => setTimeout(done, 10));
  }
  throw new Error('a connection of the killed process is still open after 10 seconds');
}

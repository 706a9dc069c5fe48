import type { Database, Statement } from '../database/database.ts';

const readTime: Statement = {
  name: 'database_time',
  text: 'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now',
};

/** The time by the clock of the database, in milliseconds since the epoch. */
export async function readDatabaseTime(db: Database): Promise<number> {
  const [row] = await db.query<{ now: number }>(readTime, []);
  if (row === undefined) throw new Error('the database returned no time');
  return Math.round(row.now);
}

import type { Database, Statement } from '../database/database.ts';

// Expired sessions need no row: their tokens are rejected by age. A day covers any difference between clocks.
const insertEnded: Statement = {
  name: 'end_session',
  text: `WITH forgotten AS (
      DELETE FROM ended_sessions WHERE expires_at < now() - interval '1 day'
    )
    INSERT INTO ended_sessions (id, expires_at) VALUES ($1, to_timestamp($2::double precision))
    ON CONFLICT (id) DO NOTHING`,
};
const selectEnded: Statement = {
  name: 'find_ended_session',
  text: 'SELECT id FROM ended_sessions WHERE id = $1',
};

/** Ends a browser session, which invalidates its token. `expiresAt`: seconds since the epoch. */
export async function endSession(
  db: Database,
  { id, expiresAt }: { id: string; expiresAt: number },
): Promise<void> {
  await db.query(insertEnded, [id, expiresAt]);
}

/** Whether logging out has ended this browser session. */
export async function isEndedSession(db: Database, id: string): Promise<boolean> {
  return (await db.query(selectEnded, [id])).length > 0;
}

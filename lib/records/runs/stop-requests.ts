import type { Database, Statement } from '../../database/database.ts';

const request: Statement = {
  name: 'request_stop',
  text: `WITH asked AS (
      UPDATE backup_runs SET stop_requested_by = coalesce(stop_requested_by, $2),
        stop_requested_at = coalesce(stop_requested_at, now())
      WHERE id = $1::bigint AND status = 'running' AND exclusive_key = 'worker' RETURNING id
    )
    SELECT EXISTS (SELECT FROM asked) AS "isAsked", EXISTS (SELECT FROM backup_runs WHERE id = $1::bigint) AS "isKnown"`,
};

/** Asks the workers of a run to stop it. `isAsked` is false if the run has ended, or if none of our workers does it. */
export async function requestStop(
  db: Database,
  id: number,
  by: string,
): Promise<{ isAsked: boolean; isKnown: boolean }> {
  const [row] = await db.query<{ isAsked: boolean; isKnown: boolean }>(request, [id, by]);
  return row ?? { isAsked: false, isKnown: false };
}

const read: Statement = {
  name: 'read_stop_request',
  text: 'SELECT stop_requested_by AS by FROM backup_runs WHERE id = $1::bigint',
};

/** Who has asked a run to stop; null if nobody has. */
export async function readStopRequest(db: Database, id: number): Promise<string | null> {
  const [row] = await db.query<{ by: string | null }>(read, [id]);
  return row?.by ?? null;
}

import type { Database, Statement } from '../../database/database.ts';

const select: Statement = {
  name: 'has_discovered',
  text: 'SELECT EXISTS (SELECT FROM coverage) AS "hasDiscovered"',
};

/** Whether a run has ever discovered repositories on a git host. */
export async function hasDiscovered(db: Database): Promise<boolean> {
  const [row] = await db.query<{ hasDiscovered: boolean }>(select);
  return row?.hasDiscovered === true;
}

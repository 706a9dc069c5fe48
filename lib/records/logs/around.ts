import type { Database, Statement } from '../../database/database.ts';
import { jsonArray } from '../base/page.ts';
import { logColumns } from './list.ts';
import { newestFirst } from './selection.ts';

const anchor: Statement = {
  name: 'log_anchor',
  text: 'SELECT run_id FROM execution_logs WHERE id = $1::bigint',
};

const around = (isOfRun: boolean): Statement => {
  const ofRun = isOfRun ? 'log.run_id = $3::bigint AND' : '';
  const place = '(SELECT created_at, id FROM execution_logs WHERE id = $1::bigint)';
  return {
    name: isOfRun ? 'logs_around_of_run' : 'logs_around',
    text: `SELECT ${jsonArray(`SELECT ${logColumns} FROM (
        (SELECT * FROM execution_logs AS log WHERE ${ofRun} (log.created_at, log.id) <= ${place}
         ORDER BY log.created_at DESC, log.id DESC LIMIT $2::int + 1)
        UNION ALL
        (SELECT * FROM execution_logs AS log WHERE ${ofRun} (log.created_at, log.id) > ${place}
         ORDER BY log.created_at, log.id LIMIT $2::int)
      ) AS log ${newestFirst}`)} AS items`,
  };
};
const ofRun = around(true);
const ofAll = around(false);

/**
 * A log with at most `each` logs before and after it, of the same run if it is of one, as a JSON array, newest first.
 * Null if there is no such log.
 */
export async function readLogsAround(
  db: Database,
  id: number,
  each: number,
): Promise<string | null> {
  const [found] = await db.query<{ run_id: string | number | null }>(anchor, [id]);
  if (found === undefined) return null;
  const { run_id: run } = found;
  const [row] = await (run === null
    ? db.query<{ items: string }>(ofAll, [id, each])
    : db.query<{ items: string }>(ofRun, [id, each, run]));
  return row?.items ?? null;
}

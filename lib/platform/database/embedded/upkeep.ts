import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { type Repeating, repeat } from '../../repeat.ts';
import type { Database } from '../database.ts';

const UPKEEP_INTERVAL_MS = 60 * 60_000;

const vacuum = { text: 'VACUUM (ANALYZE)' };

/**
 * Does each hour what autovacuum does in a server: the embedded database has none, and without it the
 * planner's row estimates would be of an empty table and rows that changed would pile up.
 */
export function startUpkeep(db: Database, handles: { clock: Clock; log: Log }): Repeating {
  return repeat(() => db.query(vacuum), {
    ...handles,
    what: 'the upkeep of the embedded database',
    intervalMs: UPKEEP_INTERVAL_MS,
  });
}

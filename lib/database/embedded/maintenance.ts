import type { Clock } from '../../clock.ts';
import type { Log } from '../../log/log.ts';
import { type Repeating, repeat } from '../../log/repeat.ts';
import type { Database } from '../database.ts';

const MAINTENANCE_INTERVAL_MS = 60 * 60_000;
/** Time limit for each table. */
const TABLE_TIMEOUT_MS = 10 * 60_000;

const listTables = {
  text: `SELECT oid::regclass::text AS name FROM pg_class
    WHERE relkind IN ('r', 'm') AND relpersistence = 'p' AND NOT relisshared
    ORDER BY relpages, oid`,
};

/**
 * Runs VACUUM, ANALYZE and CHECKPOINT every hour, because the embedded database has no autovacuum and no
 * checkpointer. Without them row estimates would be stale, dead rows would pile up, and crash recovery
 * would take long.
 */
export function startMaintenance(db: Database, deps: { clock: Clock; log: Log }): Repeating {
  return repeat(() => maintain(db), {
    ...deps,
    what: 'maintenance of the embedded database',
    intervalMs: MAINTENANCE_INTERVAL_MS,
  });
}

/** Uses one statement per table, so that other clients are served in between. */
async function maintain(db: Database): Promise<void> {
  const tables = await db.query<{ name: string }>(listTables);
  for (const { name } of tables) {
    await db.query({ text: `VACUUM (ANALYZE) ${name}` }, [], { timeoutMs: TABLE_TIMEOUT_MS });
  }
  await db.query({ text: 'CHECKPOINT' }, [], { timeoutMs: TABLE_TIMEOUT_MS });
}

import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { ConfigError } from '../../config/read.ts';
import type { DataDirectory } from './data-directory.ts';
import { PostgresTimers } from './postgres-timers.ts';

/** A Postgres that runs in this process. */
export interface RunningPostgres {
  pglite: PGlite;
  timers: PostgresTimers;
}

/**
 * WebAssembly's own stack ends long before the 2 MB that Postgres counts on: a function that calls
 * itself for ever would break the database in place of failing.
 */
const startParams = [...PGlite.defaultStartParams, '-c', 'max_stack_depth=200kB'];

/**
 * Starts PGlite in its folder, or in memory for null. Throws ConfigError when what the folder holds does
 * not start.
 */
export async function startPostgres(directory: DataDirectory | null): Promise<RunningPostgres> {
  const timers = new PostgresTimers();
  const options = { extensions: { vector, timers: timers.extension }, startParams };
  try {
    if (directory === null) return { pglite: await PGlite.create(options), timers };
    const pglite = await PGlite.create(directory.folder, options);
    await directory.confirm();
    return { pglite, timers };
  } catch (error) {
    timers.disarm();
    if (directory === null) throw error;
    throw new ConfigError(
      'DATA_DIR holds an embedded database that does not start; it is damaged',
      { cause: error },
    );
  }
}

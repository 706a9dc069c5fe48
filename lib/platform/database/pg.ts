import { Pool, type PoolClient } from 'pg';
import { type Database, DEFAULT_QUERY_TIMEOUT_MS, type OpenDatabaseOptions } from './database.ts';
import { translateDatabaseError } from './failure.ts';

const CONNECT_TIMEOUT_MS = 5_000;

/** Postgres over TCP through a pool of `pg`. */
export function openPgDatabase({ url, log, maxConnections = 10 }: OpenDatabaseOptions): Database {
  const pool = new Pool({
    connectionString: url,
    max: maxConnections,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    application_name: 'backup-observatory',
  });
  // A connection that dies while idle is dropped from the pool; the next query opens another.
  pool.on('error', (error) => log.warn('an idle database connection was lost', { error }));
  pool.on('connect', (client: PoolClient) => {
    client.on('error', (error) => log.debug('a database connection failed', { error }));
  });

  return {
    driver: 'pg',
    async query<Row>(
      { name, text }: { name?: string; text: string },
      values: readonly unknown[] = [],
      { timeoutMs = DEFAULT_QUERY_TIMEOUT_MS } = {},
    ) {
      try {
        const config = { text, values: [...values], query_timeout: timeoutMs };
        const result = await pool.query(name === undefined ? config : { ...config, name });
        return result.rows as Row[];
      } catch (error) {
        throw translateDatabaseError(error);
      }
    },
    poolStats: () => ({
      total: pool.totalCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
    }),
    close: () => pool.end(),
  };
}

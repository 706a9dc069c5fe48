import { neon, neonConfig } from '@neondatabase/serverless';
import {
  type Database,
  DEFAULT_QUERY_TIMEOUT_MS,
  type OpenDatabaseOptions,
  type Statement,
} from './database.ts';
import { translateDatabaseError } from './failure.ts';

/** Neon over HTTP: one request a statement, no connection to keep. */
export function openNeonDatabase({ url, fetch }: OpenDatabaseOptions): Database {
  // The driver knows no other place for it; every database of a process uses the same one.
  neonConfig.fetchFunction = fetch;
  const sql = neon(url);
  let underWay = 0;

  return {
    driver: 'neon',
    async query<Row>(
      { text }: Statement,
      values: readonly unknown[] = [],
      { timeoutMs = DEFAULT_QUERY_TIMEOUT_MS } = {},
    ) {
      underWay++;
      try {
        const fetchOptions = { signal: AbortSignal.timeout(timeoutMs) };
        return (await sql.query(text, [...values], { fetchOptions })) as Row[];
      } catch (error) {
        throw translateDatabaseError(error);
      } finally {
        underWay--;
      }
    },
    poolStats: () => ({ total: underWay, idle: 0, waiting: 0 }),
    close: async () => undefined,
  };
}

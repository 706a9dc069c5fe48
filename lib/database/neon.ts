import { NeonDbError, neon, neonConfig } from '@neondatabase/serverless';
import {
  type Database,
  DEFAULT_QUERY_TIMEOUT_MS,
  databaseUnavailable,
  type OpenDatabaseOptions,
  type Statement,
} from './database.ts';
import { translateDatabaseError } from './database-errors.ts';

/** Options of one request. `send` is our addition: the `fetch` to use. */
interface RequestOptions extends RequestInit {
  send: typeof fetch;
}

/** Neon over HTTP: one request per statement, no connections. */
export function openNeonDatabase({ url, fetch: send }: OpenDatabaseOptions): Database {
  // The driver has one global fetch function, so each request carries its own.
  neonConfig.fetchFunction = sendRequest;
  const sql = neon(url);
  let inFlight = 0;

  return {
    driver: 'neon',
    async query<Row>(
      { text }: Statement,
      values: readonly unknown[] = [],
      { timeoutMs = DEFAULT_QUERY_TIMEOUT_MS } = {},
    ) {
      inFlight++;
      try {
        const fetchOptions: RequestOptions = { signal: AbortSignal.timeout(timeoutMs), send };
        return (await sql.query(text, [...values], { fetchOptions })) as Row[];
      } catch (error) {
        // Errors without a SQLSTATE come from Neon's proxy or the network, not from Postgres.
        if (error instanceof NeonDbError && !error.code) throw databaseUnavailable(error);
        if (isBrokenAnswer(error)) throw databaseUnavailable(error);
        throw translateDatabaseError(error);
      } finally {
        inFlight--;
      }
    },
    poolStats: () => ({ total: inFlight, idle: 0, waiting: 0 }),
    close: async () => undefined,
  };
}

/** Whether the response was cut off or not JSON. The driver does not wrap these errors. */
function isBrokenAnswer(error: unknown): boolean {
  const isCut = error instanceof TypeError && error.message === 'terminated';
  return error instanceof SyntaxError || isCut;
}

function sendRequest(endpoint: string, { send, ...request }: RequestOptions): Promise<Response> {
  return send(endpoint, request);
}

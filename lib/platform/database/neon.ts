import { NeonDbError, neon, neonConfig } from '@neondatabase/serverless';
import {
  type Database,
  DEFAULT_QUERY_TIMEOUT_MS,
  databaseUnavailable,
  type OpenDatabaseOptions,
  type Statement,
} from './database.ts';
import { translateDatabaseError } from './failure.ts';

/** Options of one request; `send` is ours, and says which `fetch` makes it. */
interface RequestOptions extends RequestInit {
  send: typeof fetch;
}

/** Neon over HTTP: one request a statement, no connection to keep. */
export function openNeonDatabase({ url, fetch: send }: OpenDatabaseOptions): Database {
  // The driver has one function for a whole process, so the handle's own travels with each request.
  neonConfig.fetchFunction = sendRequest;
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
        const fetchOptions: RequestOptions = { signal: AbortSignal.timeout(timeoutMs), send };
        return (await sql.query(text, [...values], { fetchOptions })) as Row[];
      } catch (error) {
        // Whatever Postgres says has a SQLSTATE. What has none comes from Neon's proxy or the network.
        if (error instanceof NeonDbError && !error.code) throw databaseUnavailable(error);
        if (isBrokenAnswer(error)) throw databaseUnavailable(error);
        throw translateDatabaseError(error);
      } finally {
        underWay--;
      }
    },
    poolStats: () => ({ total: underWay, idle: 0, waiting: 0 }),
    close: async () => undefined,
  };
}

/** The driver hands on what reading an answer throws: one that is no JSON, or that was cut off. */
function isBrokenAnswer(error: unknown): boolean {
  const isCut = error instanceof TypeError && error.message === 'terminated';
  return error instanceof SyntaxError || isCut;
}

function sendRequest(endpoint: string, { send, ...request }: RequestOptions): Promise<Response> {
  return send(endpoint, request);
}

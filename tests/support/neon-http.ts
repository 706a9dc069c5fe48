import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { DatabaseError, Pool, type QueryResult } from 'pg';
import { databaseUrl } from './connection.ts';

/** A stand-in for Neon's HTTP endpoint, in front of a real Postgres. */
export interface NeonEndpoint {
  /** Where the stand-in itself listens, with the path for statements. */
  readonly url: string;
  /** A `fetch` for the driver: sends what is meant for Neon to the stand-in, and refuses everything else. */
  readonly fetch: typeof fetch;
  /** Answers every request with this status and body, as Neon's proxy does when in trouble; null ends that. */
  failWith(failure: { status: number; body: string } | null): void;
  close(): Promise<void>;
}

/** The host in a Neon URL of tests. */
export const NEON_HOST = 'ep-test.eu-central-1.aws.neon.tech';
/** The address that leads the driver to the stand-in, for the database at `url`. */
export function neonUrl(url: string): string {
  const address = new URL(url);
  address.host = NEON_HOST;
  address.port = '';
  // The URL of a socket names the user as a parameter.
  address.username ||= address.searchParams.get('user') ?? '';
  address.search = 'sslmode=require';
  return address.href;
}

const ENDPOINT = 'https://api.eu-central-1.aws.neon.tech/sql';

const rawText = { getTypeParser: () => (value: string) => value };

/** Starts the stand-in. A Neon URL leads to the database of the same name on the given server. */
export async function startNeonEndpoint(serverUrl: string): Promise<NeonEndpoint> {
  const pools = new Map<string, Pool>();
  let failure: { status: number; body: string } | null = null;

  const poolOf = (connectionString: string) => {
    const { username, password, pathname } = new URL(connectionString);
    const url = new URL(databaseUrl(serverUrl, pathname.slice(1)));
    url.username = username;
    url.password = password;
    const known = pools.get(url.href);
    if (known) return known;
    const pool = new Pool({ connectionString: url.href, max: 10, types: rawText });
    // The database is dropped by force while its last connections are closing.
    const ignoreEnd = () => undefined;
    pool.on('error', ignoreEnd);
    pool.on('connect', (client) => client.on('error', ignoreEnd));
    pools.set(url.href, pool);
    return pool;
  };

  const server = createServer(async (request, response) => {
    if (failure) return void response.writeHead(failure.status).end(failure.body);
    try {
      answer(response, 200, await runQuery(poolOf, request, response));
    } catch (error) {
      answer(response, 400, describe(error));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  const standIn = `http://127.0.0.1:${address.port}/sql`;

  return {
    url: standIn,
    fetch(input, init) {
      if (String(input) !== ENDPOINT) throw new Error(`not Neon's endpoint: ${String(input)}`);
      return fetch(standIn, init);
    },
    failWith(next) {
      failure = next;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await Promise.all([...pools.values()].map((pool) => pool.end()));
    },
  };
}

/** Runs one statement with the extended protocol, and returns every value as Postgres prints it. */
async function runQuery(
  poolOf: (connectionString: string) => Pool,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Pick<QueryResult, 'fields' | 'rows' | 'rowCount' | 'command'>> {
  const { headers } = request;
  const connectionString = headers['neon-connection-string'];
  if (request.method !== 'POST' || request.url !== '/sql' || typeof connectionString !== 'string') {
    throw new Error('expected POST /sql with a connection string');
  }
  if (headers['neon-raw-text-output'] !== 'true' || headers['neon-array-mode'] !== 'true') {
    throw new Error('the stand-in supports only raw text in arrays');
  }
  const { query, params } = JSON.parse(await text(request)) as { query: string; params: unknown[] };
  // `queryMode` makes the driver send a statement with parameters even if there are none.
  const config = { text: query, values: params, rowMode: 'array' as const, queryMode: 'extended' };
  const client = await poolOf(connectionString).connect();
  // A client that leaves early takes the connection with it, and whatever it is still running.
  const release = () => client.release(!response.writableFinished);
  if (response.closed) {
    release();
    throw new Error('the client left');
  }
  response.once('close', release);
  const { fields, rows, rowCount, command } = await client.query(config);
  return { fields, rows, rowCount, command };
}

/** An error as Neon words it: Postgres's own errors with their fields, any other with a message and no code. */
function describe(error: unknown): Record<string, unknown> {
  if (error instanceof DatabaseError) return { ...error, message: error.message };
  return { message: error instanceof Error ? error.message : String(error), code: null };
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

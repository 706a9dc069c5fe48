import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { Client, DatabaseError, Pool, type PoolClient, type QueryResultRow } from 'pg';
import { cancelStatement } from './cancel-statement.ts';
import {
  type Database,
  DEFAULT_QUERY_TIMEOUT_MS,
  databaseUnavailable,
  type OpenDatabaseOptions,
  type SqlValue,
  type Statement,
} from './database.ts';
import { translateDatabaseError } from './database-errors.ts';
import { socketFactory } from './local-socket.ts';
import { GuardedClient } from './pg-client.ts';

const CONNECT_TIMEOUT_MS = 5_000;

/** A connection pooler switched server connections, so prepared statements do not work there. */
const swappedStates = ['26000', '42P05'];
/** A table changed after its statement was prepared on this connection. */
const CHANGED_PLAN_STATE = '0A000';

/** Postgres through a `pg` pool, over TCP or a local socket. */
export function openPgDatabase({
  url,
  log,
  maxConnections = 10,
  connectTimeoutMs = CONNECT_TIMEOUT_MS,
  idleTimeoutMs = 30_000,
  stayAwake,
}: OpenDatabaseOptions): Database {
  const named = { connectionString: url, application_name: 'backup-observatory' };
  const server = new Client(named);
  const stream = socketFactory(server);
  const settings = stream ? { ...named, stream } : named;
  const pool = new Pool({
    ...settings,
    Client: GuardedClient,
    max: maxConnections,
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: idleTimeoutMs,
    keepAlive: true,
  });
  // The pool drops a connection that dies while idle; the next query opens another.
  pool.on('error', ({ message }) => {
    if (closed === null) log.warn('an idle database connection was lost', { reason: message });
  });
  pool.on('connect', (client: PoolClient) => {
    client.on('error', (error) => log.debug('a database connection failed', { error }));
  });
  if (stayAwake) stayAwakeWhileConnected(pool, stayAwake);
  let isPreparing = true;
  let closed: Promise<void> | null = null;

  /** Runs a statement on a pool connection, and discards the connection if it may be broken. */
  async function run(statement: Statement, values: readonly SqlValue[], deadline: number) {
    // Process pending events first: the server may have closed an idle connection.
    if (pool.idleCount > 0) await yieldToEventLoop();
    const client = await takeClient(pool, deadline);
    try {
      const query_timeout = Math.max(1, Math.ceil(deadline - performance.now()));
      const config = { ...statement, values: [...values], query_timeout };
      const { rows } = await client.query<QueryResultRow>(config);
      client.release();
      return rows;
    } catch (error) {
      if (isSound(error)) client.release();
      else client.release(true);
      // Otherwise the server would keep running the statement.
      if (isTimeout(error)) {
        cancelStatement(client, server).catch((cause) => {
          log.debug('could not cancel a statement', { error: cause });
        });
      }
      throw error;
    }
  }

  return {
    driver: 'pg',
    async query<Row>(
      { name, text }: Statement,
      values: readonly SqlValue[] = [],
      { timeoutMs = DEFAULT_QUERY_TIMEOUT_MS } = {},
    ) {
      const deadline = performance.now() + timeoutMs;
      try {
        if (name === undefined || !isPreparing) {
          return (await run({ text }, values, deadline)) as Row[];
        }
        try {
          return (await run({ name, text }, values, deadline)) as Row[];
        } catch (error) {
          // Both errors occur before execution, so it is safe to retry.
          if (hasState(error, swappedStates)) {
            isPreparing = false;
            log.warn('the database does not support prepared statements: sending plain ones');
          } else if (!hasState(error, [CHANGED_PLAN_STATE])) {
            throw error;
          }
          return (await run({ text }, values, deadline)) as Row[];
        }
      } catch (error) {
        throw translateDatabaseError(error);
      }
    },
    poolStats: () => ({
      total: pool.totalCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
    }),
    close() {
      closed ??= pool.end();
      return closed;
    },
  };
}

function stayAwakeWhileConnected(
  pool: Pool,
  stayAwake: NonNullable<OpenDatabaseOptions['stayAwake']>,
): void {
  let rest: () => void = () => undefined;
  pool.on('release', () => {
    rest();
    const { promise, resolve } = Promise.withResolvers<void>();
    rest = resolve;
    stayAwake(promise);
  });
  pool.on('remove', () => {
    if (pool.totalCount === 0) rest();
  });
}

/** Takes a connection from the pool by the deadline. Any failure means that the database is unavailable. */
function takeClient(pool: Pool, deadline: number): Promise<PoolClient> {
  return new Promise((resolve, reject) => {
    let isGivenUp = false;
    const timer = setTimeout(() => {
      isGivenUp = true;
      reject(databaseUnavailable(new Error('no connection was free in time')));
    }, deadline - performance.now());
    pool.connect().then(
      (client) => {
        clearTimeout(timer);
        if (isGivenUp) client.release();
        else resolve(client);
      },
      (error) => {
        clearTimeout(timer);
        reject(databaseUnavailable(error));
      },
    );
  });
}

/** Whether the connection is still usable: only if the server reported the error for a single statement. */
function isSound(error: unknown): boolean {
  return (
    error instanceof DatabaseError &&
    error.severity === 'ERROR' &&
    !hasState(error, [CHANGED_PLAN_STATE])
  );
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout';
}

function hasState(error: unknown, states: readonly string[]): boolean {
  return error instanceof DatabaseError && states.includes(error.code ?? '');
}

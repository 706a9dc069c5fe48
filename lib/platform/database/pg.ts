import { setImmediate as nextTurn } from 'node:timers/promises';
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
import { translateDatabaseError } from './failure.ts';
import { WaryClient } from './pg-client.ts';

const CONNECT_TIMEOUT_MS = 5_000;

/** A pooler between us and the server swapped connections: prepared statements do not last there. */
const swappedStates = ['26000', '42P05'];
/** A table changed under a prepared statement, which the connection keeps as it was. */
const CHANGED_PLAN_STATE = '0A000';

/** Postgres over TCP through a pool of `pg`. */
export function openPgDatabase({
  url,
  log,
  maxConnections = 10,
  idleTimeoutMs = 30_000,
  stayAwake,
}: OpenDatabaseOptions): Database {
  const settings = { connectionString: url, application_name: 'backup-observatory' };
  const server = new Client(settings);
  const pool = new Pool({
    ...settings,
    Client: WaryClient,
    max: maxConnections,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: idleTimeoutMs,
    keepAlive: true,
  });
  // A connection that dies while idle is dropped from the pool; the next query opens another.
  pool.on('error', ({ message }) =>
    log.warn('an idle database connection was lost', { reason: message }),
  );
  pool.on('connect', (client: PoolClient) => {
    client.on('error', (error) => log.debug('a database connection failed', { error }));
  });
  if (stayAwake) stayAwakeWhileConnected(pool, stayAwake);
  let isPreparing = true;
  let closed: Promise<void> | null = null;

  /** Runs a statement on a connection that is given back to the pool only when it is idle and sound. */
  async function run(statement: Statement, values: readonly SqlValue[], deadline: number) {
    // What has come in meanwhile is read first: that the server ended an idle connection may be among it.
    if (pool.idleCount > 0) await nextTurn();
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
      // The server goes on with a statement whose client is gone.
      if (isTimeout(error)) {
        cancelStatement(client, server).catch((cause) => {
          log.debug('a statement could not be canceled', { error: cause });
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
          // Either is found out before anything is executed, so the statement can be sent again.
          if (hasState(error, swappedStates)) {
            isPreparing = false;
            log.warn('the database keeps no prepared statements: they are sent anew each time');
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

/** A connection from the pool by the deadline. Whatever keeps us from one is the database being away. */
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

/** Is the connection as good as before? Only the server can say so: it refused one statement. */
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

import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import {
  Client,
  DatabaseError,
  Pool,
  type PoolClient,
  type QueryConfig,
  type QueryResultRow,
} from 'pg';
import { currentCaller } from '../caller.ts';
import { cancelStatement } from './cancel-statement.ts';
import {
  type Database,
  DEFAULT_QUERY_TIMEOUT_MS,
  databaseUnavailable,
  type OpenDatabaseOptions,
  type QueryOptions,
  type SqlValue,
  type Statement,
} from './database.ts';
import { socketFactory } from './local-socket.ts';
import { GuardedClient } from './pg-client.ts';
import { refusesOptions, setSession, withSessionSettings } from './session-settings.ts';
import { StatementQueue } from './statement-queue.ts';

const CONNECT_TIMEOUT_MS = 5_000;
const MAX_WAIT_MS = 60_000;
/** As long as a ping may take. */
const HANGS_AFTER_MS = 3_000;

/** A connection pooler switched server connections, so prepared statements do not work there. */
const swappedStates = ['26000', '42P05'];
/** A table changed after its statement was prepared on this connection. */
const CHANGED_PLAN_STATE = '0A000';

export interface OpenPgOptions extends OpenDatabaseOptions {
  /**
   * Reports when the next statement of a connection begins to run, for a server whose clients wait for each other.
   * Returns a function that stops this. Default: it runs as soon as it is sent.
   */
  onceRunning?(processId: number, report: () => void): () => void;
  /** Lets `budgetMs` of a connection's running statement pass at once. Default: statements do not give way. */
  giveWay?(processId: number, budgetMs: number): void;
}

/** Postgres through a `pg` pool, over TCP or a local socket. */
export function openPgDatabase({
  url,
  log,
  maxConnections = 10,
  connectTimeoutMs = CONNECT_TIMEOUT_MS,
  maxWaitMs = MAX_WAIT_MS,
  idleTimeoutMs = 30_000,
  stayAwake,
  onceRunning,
  giveWay,
}: OpenPgOptions): Database {
  const named = { connectionString: url, application_name: 'backup-observatory' };
  const server = new Client(named);
  const stream = socketFactory(server);
  const settings = stream ? { ...named, stream } : named;
  const pool = new Pool({
    ...settings,
    connectionString: withSessionSettings(url),
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
  let connected = 0;
  pool.on('remove', () => {
    connected--;
  });
  pool.on('connect', (client: PoolClient) => {
    connected++;
    client.on('error', (error) => log.debug('a database connection failed', { error }));
  });
  if (stayAwake) stayAwakeWhileConnected(pool, stayAwake);
  // Where clients wait for each other, one long statement holds up all others, and the database still works.
  const hangsAfterMs = onceRunning ? Number.POSITIVE_INFINITY : HANGS_AFTER_MS;
  const queue = new StatementQueue({ slots: maxConnections, maxWaitMs, hangsAfterMs });
  let isPreparing = true;
  let closed: Promise<void> | null = null;

  /** Runs a statement on a pool connection, and discards the connection if it may be broken. */
  async function run(
    statement: Statement,
    values: readonly SqlValue[],
    timeoutMs: number,
    onClient: (processId: number) => void,
  ) {
    // Process pending events first: the server may have closed an idle connection.
    if (pool.idleCount > 0) await yieldToEventLoop();
    const startedAt = performance.now();
    const client = await takeClient(timeoutMs);
    onClient(processIdOf(client));
    try {
      const left = timeoutMs - (performance.now() - startedAt);
      const rows = await runWithin(client, { ...statement, values: [...values] }, left);
      client.release();
      return rows;
    } catch (error) {
      if (isSound(error)) client.release();
      else client.release(true);
      // Otherwise the server would keep running the statement.
      if (error instanceof OutOfTime) {
        cancelStatement(client, server).catch((cause) => {
          log.debug('could not cancel a statement', { error: cause });
        });
        throw databaseUnavailable(error);
      }
      throw error;
    }
  }

  /** Takes a connection from the pool. Any failure means that the database is unavailable. */
  async function takeClient(timeoutMs: number): Promise<PoolClient> {
    try {
      return await connectWithin(pool, timeoutMs).catch((error) => {
        if (!refusesOptions(error)) throw error;
        setSessionsOnceConnected();
        return connectWithin(pool, timeoutMs);
      });
    } catch (error) {
      const unavailable = databaseUnavailable(error);
      // What waits would only fail too, each after the same time.
      if (connected === 0) queue.refuseWaiting(unavailable);
      throw unavailable;
    }
  }

  /** Connects without options from now on, and applies the settings by a statement instead. */
  function setSessionsOnceConnected(): void {
    if (pool.options.connectionString === url) return;
    log.info('the database accepts no options: settings are applied after connecting');
    pool.options.connectionString = url;
    pool.options.onConnect = async (client) => {
      await client.query(setSession);
    };
  }

  /** Runs a statement. Its time starts when the server begins to run it. */
  function runWithin(client: PoolClient, config: QueryConfig, timeoutMs: number) {
    return new Promise<QueryResultRow[]>((resolve, reject) => {
      const expire = () => reject(new OutOfTime('the statement took too long'));
      let timer = setTimeout(expire, onceRunning ? maxWaitMs : timeoutMs);
      const forget = onceRunning?.(processIdOf(client), () => {
        clearTimeout(timer);
        timer = setTimeout(expire, timeoutMs);
      });
      client
        .query<QueryResultRow>(config)
        .finally(() => {
          clearTimeout(timer);
          forget?.();
        })
        .then(({ rows }) => resolve(rows), reject);
    });
  }

  return {
    driver: 'pg',
    async query<Row>(
      { name, text }: Statement,
      values: readonly SqlValue[] = [],
      { timeoutMs = DEFAULT_QUERY_TIMEOUT_MS, budgetMs }: QueryOptions = {},
    ) {
      let processId: number | null = null;
      const onClient = (id: number) => {
        processId = id;
      };
      const runNamed = async (leftMs: number) => {
        const runText = () => run({ text }, values, leftMs, onClient);
        if (name === undefined || !isPreparing) return runText();
        try {
          return await run({ name, text }, values, leftMs, onClient);
        } catch (error) {
          // Both errors occur before execution, so it is safe to retry.
          if (hasState(error, swappedStates)) {
            isPreparing = false;
            log.warn('the database does not support prepared statements: sending plain ones');
          } else if (!hasState(error, [CHANGED_PLAN_STATE])) {
            throw error;
          }
          return runText();
        }
      };
      const needs = {
        caller: currentCaller(),
        timeoutMs,
        giveWay:
          giveWay === undefined || budgetMs === undefined
            ? null
            : () => {
                if (processId !== null) giveWay(processId, budgetMs);
              },
      };
      return (await queue.run(needs, runNamed)) as Row[];
    },
    poolStats: () => ({
      total: pool.totalCount,
      idle: pool.idleCount,
      waiting: queue.waiting,
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

/** Takes a connection from the pool in time. One that comes later goes back to it. */
function connectWithin(pool: Pool, timeoutMs: number): Promise<PoolClient> {
  return new Promise((resolve, reject) => {
    let isGivenUp = false;
    const timer = setTimeout(() => {
      isGivenUp = true;
      reject(new Error('no connection was made in time'));
    }, timeoutMs);
    pool
      .connect()
      .finally(() => clearTimeout(timer))
      .then((client) => (isGivenUp ? client.release() : resolve(client)), reject);
  });
}

/** The driver stores it, but does not declare it. */
function processIdOf(client: PoolClient): number {
  return (client as PoolClient & { processID: number }).processID;
}

/** A statement that ran too long. */
class OutOfTime extends Error {}

/** Whether the connection is still usable: only if the server reported the error for a single statement. */
function isSound(error: unknown): boolean {
  return (
    error instanceof DatabaseError &&
    error.severity === 'ERROR' &&
    !hasState(error, [CHANGED_PLAN_STATE])
  );
}

function hasState(error: unknown, states: readonly string[]): boolean {
  return error instanceof DatabaseError && states.includes(error.code ?? '');
}

import { AppError } from '../errors.ts';
import type { Log } from '../log/log.ts';

/**
 * One SQL statement with `$1`-style parameters. Drivers that prepare statements identify it by its name, so
 * each name has exactly one text. Statements built dynamically have no name.
 */
export interface Statement {
  readonly name?: string;
  readonly text: string;
}

/** A value that all drivers serialize identically. Arrays become Postgres arrays. */
export type SqlValue = string | number | boolean | null | readonly (string | number | null)[];

export interface QueryOptions {
  /** Milliseconds that the statement may run before it fails with SERVICE_UNAVAILABLE. Default 15,000. */
  timeoutMs?: number;
  /**
   * Milliseconds after which the statement ends by itself, as it compares `clock_timestamp()` with
   * `statement_timestamp()`. In the embedded database, they pass sooner while other callers wait.
   */
  budgetMs?: number;
}

/** Pool connections, for the metrics. A driver without a pool counts requests in flight. */
export interface PoolStats {
  total: number;
  idle: number;
  waiting: number;
}

/**
 * One interface to the embedded PGlite, `pg` and Neon's HTTP driver. Each call runs one statement in its own
 * transaction, because the HTTP driver supports nothing else.
 *
 * Throws AppError SERVICE_UNAVAILABLE when the database is unreachable, shutting down or too slow, and RATE_LIMITED
 * when too many statements of the current caller wait; rethrows any other database error as is.
 */
export interface Database {
  readonly driver: 'embedded' | 'pg' | 'neon';
  /** Returns rows as objects. Select only text, integers and JSON cast to text: other types differ between drivers. */
  query<Row>(
    statement: Statement,
    values?: readonly SqlValue[],
    options?: QueryOptions,
  ): Promise<Row[]>;
  poolStats(): PoolStats;
  close(): Promise<void>;
}

export const DEFAULT_QUERY_TIMEOUT_MS = 15_000;

export interface OpenDatabaseOptions {
  url: string;
  fetch: typeof fetch;
  log: Log;
  /** Maximum pool size. Default 10. */
  maxConnections?: number;
  /** Milliseconds until an attempt to connect fails. Default 5,000. */
  connectTimeoutMs?: number;
  /** Milliseconds that a statement may wait until it is its turn. Default 60,000. */
  maxWaitMs?: number;
  /** Milliseconds until an idle pool connection is closed. Default 30,000. */
  idleTimeoutMs?: number;
  /**
   * Called after each use of a connection with a promise that resolves when the pool is used again or has no
   * open connection. A platform must not freeze the process until then: frozen connections occupy server
   * slots and are dead after the thaw. Default: none.
   */
  stayAwake?(until: Promise<void>): void;
}

class DatabaseUnavailable extends AppError {}

/** The error for a database that does not answer. Its message reveals nothing from the driver. */
export function databaseUnavailable(cause: unknown): AppError {
  return new DatabaseUnavailable('SERVICE_UNAVAILABLE', 'the database is unavailable', {
    cause,
    headers: { 'Retry-After': '5' },
  });
}

/** Whether the database did not answer. Other SERVICE_UNAVAILABLE errors do not go away without a repair. */
export function isDatabaseUnavailable(error: unknown): boolean {
  return error instanceof DatabaseUnavailable;
}

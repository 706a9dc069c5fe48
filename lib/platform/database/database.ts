import { AppError } from '../errors.ts';
import type { Log } from '../log.ts';

/**
 * One SQL statement with `$1`-style parameters. The name identifies it to drivers that prepare
 * statements: one name, one text. A statement that is built anew at each call has none.
 */
export interface Statement {
  readonly name?: string;
  readonly text: string;
}

/** A value that every driver sends alike. Arrays become Postgres arrays. */
export type SqlValue = string | number | boolean | null | readonly (string | number | null)[];

export interface QueryOptions {
  /** Milliseconds after which the statement is given up with SERVICE_UNAVAILABLE. Default 15,000. */
  timeoutMs?: number;
}

/** Connections of the pool, for the metrics. A driver without a pool counts requests under way. */
export interface PoolStats {
  total: number;
  idle: number;
  waiting: number;
}

/**
 * The database, the same over the embedded PGlite, `pg` and Neon's HTTP driver. Each call is one
 * statement in a transaction of its own, because an HTTP driver has no others.
 *
 * Throws AppError SERVICE_UNAVAILABLE when the database cannot be reached, is shutting down or does not
 * answer in time; any other database error as the driver threw it.
 */
export interface Database {
  readonly driver: 'embedded' | 'pg' | 'neon';
  /** Rows as objects. Read text, integers and JSON as text: other types differ between drivers. */
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
  /** Most connections of a pool. Default 10. */
  maxConnections?: number;
  /** Milliseconds after which an idle connection of a pool is closed. Default 30,000. */
  idleTimeoutMs?: number;
  /**
   * Told after each use of a connection, with what resolves when it is used again or none is open. A
   * platform that freezes its processes must not before: frozen connections hold a place in the server, and
   * are dead when they thaw. Default: nobody is told.
   */
  stayAwake?(until: Promise<void>): void;
}

/** The error of a database that does not answer. Its text holds nothing of the driver's. */
export function databaseUnavailable(cause: unknown): AppError {
  return new AppError('SERVICE_UNAVAILABLE', 'the database is unavailable', {
    cause,
    headers: { 'Retry-After': '5' },
  });
}

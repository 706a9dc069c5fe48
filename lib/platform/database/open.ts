import { ConfigError } from '../config/read.ts';
import { loadOnce } from '../load-once.ts';
import type { Log } from '../log.ts';
import { hasOwnProcess } from '../own-process.ts';
import { type Database, databaseUnavailable, type OpenDatabaseOptions } from './database.ts';

/** Is this host one of Neon's? (decisions 2, DATABASE_URL) */
export function isNeonHost(hostname: string): boolean {
  return hostname === 'neon.tech' || hostname.endsWith('.neon.tech');
}

/**
 * Opens the database at a postgres:// URL without connecting yet. Each driver is loaded only when it is
 * used, so that a deployed function carries one. Throws ConfigError for a host that cannot be
 * reached from this runtime.
 */
export async function openDatabase(options: OpenDatabaseOptions): Promise<Database> {
  if (chooseDriver(options.url) === 'neon') {
    const { openNeonDatabase } = await import('./neon.ts');
    return openNeonDatabase(options);
  }
  const { openPgDatabase } = await import('./pg.ts');
  return openPgDatabase(options);
}

/** The same, but the first query loads the driver: the cold start of a function does not wait for it. */
export function openWhenAsked(options: OpenDatabaseOptions): Database {
  let opening: Promise<Database> | null = null;
  let opened: Database | null = null;
  const load = loadOnce(() => openDatabase(options));
  const open = async () => {
    opening = load();
    opened = await opening;
    return opened;
  };
  return {
    driver: chooseDriver(options.url),
    query: async (...query) => (opened ?? (await open())).query(...query),
    poolStats: () => opened?.poolStats() ?? { total: 0, idle: 0, waiting: 0 },
    close: async () => (await opening)?.close(),
  };
}

/** Throws ConfigError for a host that only connections reach, where they end with each request. */
function chooseDriver(url: string): 'neon' | 'pg' {
  if (isNeonHost(new URL(url).hostname)) return 'neon';
  if (hasOwnProcess()) return 'pg';
  throw new ConfigError(
    'DATABASE_URL must name a host of Neon: this runtime keeps no connections between requests',
  );
}

/**
 * Stands in when a deployed function has no DATABASE_URL: every query is SERVICE_UNAVAILABLE, so the
 * paths that need no database still answer. (decisions 2)
 */
export function missingDatabase(log: Log): Database {
  log.error('DATABASE_URL is not set: paths that need the database answer 503');
  return unavailableDatabase(new Error('DATABASE_URL is not set'));
}

/** A database that is not there: every query is SERVICE_UNAVAILABLE with this cause. */
export function unavailableDatabase(cause: Error): Database {
  return {
    driver: 'pg',
    query: async () => {
      throw databaseUnavailable(cause);
    },
    poolStats: () => ({ total: 0, idle: 0, waiting: 0 }),
    close: async () => undefined,
  };
}

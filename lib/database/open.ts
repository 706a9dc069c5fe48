import { loadOnce } from '../async.ts';
import { ConfigError } from '../config/read.ts';
import type { Log } from '../log/log.ts';
import { hasOwnProcess } from '../processes/own-process.ts';
import { type Database, databaseUnavailable, type OpenDatabaseOptions } from './database.ts';

/** Whether the host belongs to Neon. */
export function isNeonHost(hostname: string): boolean {
  return hostname === 'neon.tech' || hostname.endsWith('.neon.tech');
}

/**
 * Opens the database at a postgres:// URL without connecting yet. Loads only the driver that is needed.
 * Throws ConfigError for a host that this runtime cannot connect to.
 */
export async function openDatabase(options: OpenDatabaseOptions): Promise<Database> {
  if (chooseDriver(options.url) === 'neon') {
    const { openNeonDatabase } = await import('./neon.ts');
    return openNeonDatabase(options);
  }
  const { openPgDatabase } = await import('./pg.ts');
  return openPgDatabase(options);
}

/** Like `openDatabase`, but loads the driver on the first query, to keep it out of cold starts. */
export function openLazily(options: OpenDatabaseOptions): Database {
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

/** Throws ConfigError when the host needs connections and this runtime ends them with each request. */
function chooseDriver(url: string): 'neon' | 'pg' {
  if (isNeonHost(new URL(url).hostname)) return 'neon';
  if (hasOwnProcess()) return 'pg';
  throw new ConfigError(
    'DATABASE_URL must name a Neon host: this runtime keeps no connections between requests',
  );
}

/**
 * The database of a deployed function without DATABASE_URL: every query fails with SERVICE_UNAVAILABLE, but
 * routes that need no database still work.
 */
export function missingDatabase(log: Log): Database {
  log.error('DATABASE_URL is not set: paths that need the database answer 503');
  return unavailableDatabase(new Error('DATABASE_URL is not set'));
}

/** A database whose every query fails with SERVICE_UNAVAILABLE and this cause. */
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

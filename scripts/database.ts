import { systemClock } from '../lib/clock.ts';
import { type DatabaseConfig, databaseVariables } from '../lib/config/database.ts';
import { logVariables } from '../lib/config/log.ts';
import { type Environment, readConfig } from '../lib/config/read.ts';
import { configuredSecrets } from '../lib/config/secrets.ts';
import type { Database } from '../lib/database/database.ts';
import {
  embeddedUrl,
  hasEmbeddedDatabase,
  urlOfOpenDatabase,
} from '../lib/database/embedded/address.ts';
import { openDatabase } from '../lib/database/open.ts';
import { createLog, type Log } from '../lib/log/log.ts';
import { createRedactor } from '../lib/security/redaction/redactor.ts';
import { loadEnvironment } from './environment.ts';

/** The log of a command, on stderr, without the secrets of these environments. */
export function createCommandLog(environment: Environment, ...others: Environment[]): Log {
  const { LOG_LEVEL } = readConfig(logVariables, environment);
  const secrets = [environment, ...others].flatMap(configuredSecrets);
  return createLog(LOG_LEVEL, systemClock, undefined, createRedactor(secrets));
}

/**
 * Runs work on the configured database, whether or not a server is running: DATABASE_URL, else the embedded
 * database of a running server, else the one in DATA_DIR.
 */
export async function withDatabase<Result>(
  work: (db: Database, config: DatabaseConfig) => Promise<Result>,
): Promise<Result> {
  const environment = loadEnvironment();
  const config = readConfig(databaseVariables, environment);
  const db = await openConfigured(config, createCommandLog(environment));
  try {
    return await work(db, config);
  } finally {
    await db.close();
  }
}

async function openConfigured(config: DatabaseConfig, log: Log): Promise<Database> {
  const url = config.DATABASE_URL ?? (await urlOfOpenDatabase(config.DATA_DIR));
  if (url !== null) return openDatabase({ url, fetch, log });
  // Loaded only if needed; the worker, for example, never needs it.
  const { openEmbeddedDatabase } = await import('../lib/database/embedded/open.ts');
  return openEmbeddedDatabase({ dataDir: config.DATA_DIR, listen: null, log, clock: systemClock });
}

/** The URL of the embedded database of a running server; null if none is running. */
export function urlOfRunningServer({ DATA_DIR }: DatabaseConfig): Promise<string | null> {
  return urlOfOpenDatabase(DATA_DIR);
}

/** The URL of the embedded database of a server that has run before; null if there was none. */
export async function urlOfEarlierServer({ DATA_DIR }: DatabaseConfig): Promise<string | null> {
  return (await hasEmbeddedDatabase(DATA_DIR)) ? embeddedUrl(DATA_DIR) : null;
}

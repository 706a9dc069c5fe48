import { join } from 'node:path';
import { PendingWork } from '../lib/async.ts';
import { createBackupsApp } from '../lib/backups/app.ts';
import { startSweeping } from '../lib/backups/sweeping.ts';
import { systemClock } from '../lib/clock.ts';
import { archivePath } from '../lib/config/archives.ts';
import type { DatabaseConfig } from '../lib/config/database.ts';
import { rejectShortSecret } from '../lib/config/http.ts';
import { listenPort, listenVariables, ownUrl } from '../lib/config/listen.ts';
import { type LocalConfig, localVariables } from '../lib/config/local.ts';
import { ConfigError, type Environment, readConfig } from '../lib/config/read.ts';
import { configuredSecrets } from '../lib/config/secrets.ts';
import type { Database } from '../lib/database/database.ts';
import { startMaintenance } from '../lib/database/embedded/maintenance.ts';
import { migrate } from '../lib/database/migrate.ts';
import { openDatabase } from '../lib/database/open.ts';
import { buildDeps } from '../lib/deps.ts';
import { parseNetworks } from '../lib/http/network.ts';
import { chooseConnectionLimits } from '../lib/http/open-connections.ts';
import { serveNode } from '../lib/http/serve.ts';
import { createLiveApp } from '../lib/live/app.ts';
import { createLog, type Log } from '../lib/log.ts';
import { createMcpApp } from '../lib/mcp/app.ts';
import { createObservatoryApp } from '../lib/observatory/app.ts';
import { openRedis } from '../lib/rate-limits/redis.ts';
import { explainMissingVectors } from '../lib/search/vector-storage.ts';
import { createRedactor } from '../lib/security/redaction/redactor.ts';
import { findSurface } from '../lib/surfaces/surface-paths.ts';
import { makeArchiveFolder } from '../lib/worker/archive.ts';
import { announceServer } from './running-server.ts';

const MIGRATIONS = join(import.meta.dirname, '../drizzle');

/** Where other programs reach the embedded database. */
export interface EmbeddedPlaces {
  /** The folder of its socket. */
  folder: string;
  /** The URL of its port, with the password; null without one. */
  portUrl: string | null;
}

export interface LocalServer {
  /** Address of every surface. */
  url: string;
  /** The embedded database; null when another is configured. */
  embedded: EmbeddedPlaces | null;
  /** Stops accepting, finishes what runs within 10 seconds, closes the database. */
  close(): Promise<void>;
}

/**
 * All surfaces in one process on one port. Throws ConfigError or SERVICE_UNAVAILABLE, with
 * nothing left open, when something that it is configured with does not work.
 */
export async function startLocalServer(environment: Environment): Promise<LocalServer> {
  const config = readConfig(localVariables, environment);
  const listen = readConfig(listenVariables, environment);
  rejectShortSecret(config);
  const redactor = createRedactor(configuredSecrets(environment));
  const log = createLog(config.LOG_LEVEL, systemClock, undefined, redactor);
  const { db, embedded } = await openLocalDatabase(config, log);
  try {
    await migrate(db, MIGRATIONS);
    const reason = await explainMissingVectors(db);
    if (reason !== null) log.warn('search runs on full text alone', { reason });
    await makeDefaultArchiveFolder(config, log);
    const underWay = new PendingWork();
    const deps = buildDeps({
      config,
      db,
      redis: openRedis(config),
      log,
      redactor,
      clock: systemClock,
      fetch,
      waitUntil: underWay.add,
    });
    const backups = createBackupsApp(deps);
    const live = createLiveApp(deps);
    const stopping = new AbortController();
    const apps = {
      backups,
      live: live.app,
      observatory: createObservatoryApp(deps, {
        askServiceApi: async (signal) => backups.request('/health', { signal }),
        stopping: stopping.signal,
      }),
      mcp: createMcpApp(
        { ...deps, config: { ...config, BACKEND_URL: config.BACKEND_URL ?? ownUrl(listen) } },
        { stopping: stopping.signal },
      ),
    };
    const server = await serveNode({
      fetch: (request, bindings) =>
        apps[findSurface(new URL(request.url).pathname).name].fetch(request, bindings),
      host: listen.HOST,
      port: listenPort(listen),
      log,
      clock: systemClock,
      connections: chooseConnectionLimits(parseNetworks(config.TRUSTED_PROXIES)),
    });
    const announced = await announceServer(config.DATA_DIR, server.url, log);
    const repeating = [startSweeping(deps)];
    if (db.driver === 'embedded') repeating.push(startMaintenance(db, deps));
    return {
      url: server.url,
      embedded,
      async close() {
        stopping.abort();
        await announced.close();
        await Promise.all([live.close(), server.close(), ...repeating.map((work) => work.stop())]);
        await underWay.settled();
        await db.close();
      },
    };
  } catch (error) {
    await db.close();
    throw error;
  }
}

/**
 * Makes the default folder of the archives, so that their disk can be looked at before the first backup.
 * One that BACKUP_ARCHIVE_PATH names is left alone: it may be on a disk that is not mounted.
 */
async function makeDefaultArchiveFolder(config: LocalConfig, log: Log): Promise<void> {
  if (config.BACKUP_ARCHIVE_PATH !== undefined) return;
  try {
    await makeArchiveFolder(archivePath(config));
  } catch (error) {
    log.warn('the folder of the archives cannot be made', { error });
  }
}

async function openLocalDatabase(
  config: DatabaseConfig,
  log: Log,
): Promise<{ db: Database; embedded: EmbeddedPlaces | null }> {
  if (config.DATABASE_URL !== undefined) {
    const { DATABASE_URL: url, DATABASE_POOL_SIZE: maxConnections } = config;
    const db = await openDatabase({ url, fetch, log, maxConnections });
    return { db, embedded: null };
  }
  const { openEmbeddedDatabase } = await import('../lib/database/embedded/open.ts');
  const { DATA_DIR: dataDir } = config;
  const db = await openEmbeddedDatabase({
    dataDir,
    listen: readPort(config),
    log,
    clock: systemClock,
  });
  return { db, embedded: { folder: dataDir, portUrl: db.portUrl } };
}

/** The port that the embedded database is to open, if any, with its password. */
function readPort({
  EMBEDDED_DB_PORT: port,
  EMBEDDED_DB_PASSWORD: password,
}: DatabaseConfig): { port: number; password: string } | null {
  if (port === 0) return null;
  if (password !== undefined) return { port, password };
  throw new ConfigError(
    'EMBEDDED_DB_PASSWORD must be set while EMBEDDED_DB_PORT is, with at least 12 characters',
  );
}

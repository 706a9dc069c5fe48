import { join } from 'node:path';
import { createBackupsApp } from '../lib/backups/app.ts';
import { startSweeping } from '../lib/backups/sweeping.ts';
import { createLiveApp } from '../lib/live/app.ts';
import { createMcpApp } from '../lib/mcp/app.ts';
import { createObservatoryApp } from '../lib/observatory/app.ts';
import { systemClock } from '../lib/platform/clock.ts';
import { archivePath } from '../lib/platform/config/archives.ts';
import type { DatabaseConfig } from '../lib/platform/config/database.ts';
import { type HttpConfig, INTERNAL_SECRET_MIN_LENGTH } from '../lib/platform/config/http.ts';
import { listenPort, listenVariables, ownUrl } from '../lib/platform/config/listen.ts';
import { type LocalConfig, localVariables } from '../lib/platform/config/local.ts';
import { ConfigError, type Environment, readConfig } from '../lib/platform/config/read.ts';
import { configuredSecrets } from '../lib/platform/config/secrets.ts';
import type { Database } from '../lib/platform/database/database.ts';
import { startUpkeep } from '../lib/platform/database/embedded/upkeep.ts';
import { migrate } from '../lib/platform/database/migrate.ts';
import { openDatabase } from '../lib/platform/database/open.ts';
import { buildDeps } from '../lib/platform/deps.ts';
import { serveNode } from '../lib/platform/http/serve.ts';
import { createLog, type Log } from '../lib/platform/log.ts';
import { createRedactor } from '../lib/platform/redaction.ts';
import { openRedis } from '../lib/platform/redis.ts';
import { findSurface } from '../lib/platform/surfaces.ts';
import { UnderWay } from '../lib/platform/under-way.ts';
import { otherRoutes } from '../lib/routes.ts';
import { explainMissingVectors } from '../lib/search/vector-storage.ts';
import { makeArchiveFolder } from '../lib/worker/archive.ts';

const MIGRATIONS = join(import.meta.dirname, '../drizzle');

export interface LocalServer {
  /** Address of every surface. */
  url: string;
  /** Where other processes reach the embedded database; null when it is hosted or does not listen. */
  embeddedUrl: string | null;
  /** Stops accepting, finishes what runs within 10 seconds, closes the database. */
  close(): Promise<void>;
}

/**
 * All surfaces in one process on one port (decisions 1). Throws ConfigError or SERVICE_UNAVAILABLE, with
 * nothing left open, when something that it is configured with does not work.
 */
export async function startLocalServer(environment: Environment): Promise<LocalServer> {
  const config = readConfig(localVariables, environment);
  const listen = readConfig(listenVariables, environment);
  refuseShortSecret(config);
  const redactor = createRedactor(configuredSecrets(environment));
  const log = createLog(config.LOG_LEVEL, systemClock, undefined, redactor);
  const { db, embeddedUrl } = await openLocalDatabase(config, log);
  try {
    await migrate(db, MIGRATIONS);
    const reason = await explainMissingVectors(db);
    if (reason !== null) log.warn('search runs on full text alone', { reason });
    await makeDefaultArchiveFolder(config, log);
    const underWay = new UnderWay();
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
    const backups = createBackupsApp(deps, { otherRoutes: async () => otherRoutes });
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
    });
    const repeating = [startSweeping(deps)];
    if (db.driver === 'embedded') repeating.push(startUpkeep(db, deps));
    return {
      url: server.url,
      embeddedUrl,
      async close() {
        stopping.abort();
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

/** spec 1, Authentication 5. */
function refuseShortSecret({ API_REQUIRE_AUTH, INTERNAL_SECRET = '' }: HttpConfig): void {
  if (!API_REQUIRE_AUTH || INTERNAL_SECRET.length >= INTERNAL_SECRET_MIN_LENGTH) return;
  throw new ConfigError(
    `INTERNAL_SECRET must have at least ${INTERNAL_SECRET_MIN_LENGTH} characters while API_REQUIRE_AUTH is true`,
  );
}

async function openLocalDatabase(
  config: DatabaseConfig,
  log: Log,
): Promise<{ db: Database; embeddedUrl: string | null }> {
  if (config.DATABASE_URL !== undefined) {
    const { DATABASE_URL: url, DATABASE_POOL_SIZE: maxConnections } = config;
    const db = await openDatabase({ url, fetch, log, maxConnections });
    return { db, embeddedUrl: null };
  }
  const { DATA_DIR, EMBEDDED_DB_PORT } = config;
  const listen = EMBEDDED_DB_PORT === 0 ? null : { port: EMBEDDED_DB_PORT };
  const { openEmbeddedDatabase } = await import('../lib/platform/database/embedded/open.ts');
  const db = await openEmbeddedDatabase({ dataDir: DATA_DIR, listen, log, clock: systemClock });
  return { db, embeddedUrl: db.url };
}

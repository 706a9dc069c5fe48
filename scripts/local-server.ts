import type { IncomingMessage } from 'node:http';
import { join, resolve } from 'node:path';
import { openMailboxes } from '../lib/alerts/channels/mailboxes.ts';
import { openAlertChannels } from '../lib/alerts/channels/open-channels.ts';
import { rememberInFolder } from '../lib/alerts/outage/folder-memory.ts';
import { raiseAlerts } from '../lib/alerts/raise-alerts.ts';
import { PendingWork } from '../lib/async.ts';
import { createBackupsApp } from '../lib/backups/app.ts';
import { createServedArchives } from '../lib/backups/archives/served-archives.ts';
import type { RestoreJobs } from '../lib/backups/base/restores-deps.ts';
import { openRestoreJobs } from '../lib/backups/restores/restore-jobs.ts';
import { signResults, startStaleRunSweep } from '../lib/backups/runs/stale-run-sweep.ts';
import { systemClock } from '../lib/clock.ts';
import { archivePath } from '../lib/config/archives.ts';
import type { DatabaseConfig } from '../lib/config/database.ts';
import { hasMcpToken } from '../lib/config/features.ts';
import { rejectShortSecret } from '../lib/config/http.ts';
import { listenPort, listenVariables, ownUrl } from '../lib/config/listen.ts';
import { type LocalConfig, localVariables } from '../lib/config/local/local.ts';
import { ConfigError, type Environment, readConfig } from '../lib/config/read.ts';
import { configuredSecrets } from '../lib/config/secrets.ts';
import { MIN_SECRET_LENGTH } from '../lib/config/values.ts';
import type { Database } from '../lib/database/database.ts';
import { startMaintenance } from '../lib/database/embedded/maintenance.ts';
import { migrate } from '../lib/database/migrate.ts';
import { openDatabase } from '../lib/database/open.ts';
import { buildDeps, type Deps } from '../lib/http/deps.ts';
import { chooseConnectionLimits } from '../lib/http/server/open-connections.ts';
import { serveNode } from '../lib/http/server/serve.ts';
import { createLiveApp } from '../lib/live/app.ts';
import { createLog, type Log } from '../lib/log/log.ts';
import { createMcpApp } from '../lib/mcp/app.ts';
import { createObservatoryApp, type ObservatoryAppOptions } from '../lib/observatory/app.ts';
import { endInTime } from '../lib/processes/end-in-time.ts';
import { openRedis } from '../lib/rate-limits/redis.ts';
import { type Scheduler, startScheduler } from '../lib/schedule/scheduler.ts';
import { startWorkerProcess } from '../lib/schedule/worker-process.ts';
import { explainMissingVectors } from '../lib/search/vector-storage.ts';
import { createRedactor } from '../lib/security/redaction/redactor.ts';
import { isPagePath, opensPage, PAGE_PATH } from '../lib/surfaces/page.ts';
import { findSurface, surfaces } from '../lib/surfaces/surface-paths.ts';
import { isInNetworks, parseNetworks } from '../lib/text/network.ts';
import { LoginCodes } from '../lib/users/login-codes.ts';
import { makeArchiveFolder } from '../lib/worker/archive/archive.ts';
import { endDeadRun, identify } from '../lib/worker/archive/lease/machine-lease.ts';
import { openTrials } from '../lib/worker/sources/open-trials.ts';
import { PAGE_FOLDER } from './page/build-page.ts';
import { createPageApp } from './page/page-app.ts';
import { announceServer } from './running-server.ts';

const LAUNCHER = join(import.meta.dirname, 'launch.mjs');
const MIGRATIONS = join(import.meta.dirname, '../drizzle');

/** Where other programs can connect to the embedded database. */
export interface EmbeddedPlaces {
  /** The folder of its socket. */
  folder: string;
  /** The URL of its TCP port, with the password; null without a port. */
  portUrl: string | null;
}

export interface LocalServer {
  /** The URL of all surfaces, on this machine. */
  url: string;
  /** The address that it listens on: HOST. */
  host: string;
  /** Null if DATABASE_URL is set. */
  embedded: EmbeddedPlaces | null;
  /** Creates a link that logs AUTH_USERNAME in once; null when there is no such user. */
  issueLoginLink(): string | null;
  /**
   * Stops accepting requests, finishes running ones within 10 seconds and closes the database. A part that does not end
   * within a minute is abandoned, and logged.
   */
  close(): Promise<void>;
}

interface LocalServerOptions extends Pick<ObservatoryAppOptions, 'passwordCost'> {
  /** The working directory of the worker that this server starts when runs are due. Default: null, it starts none. */
  workerFolder?: string | null;
}

/**
 * Serves all surfaces in one process on one port. Throws ConfigError or SERVICE_UNAVAILABLE, with everything
 * closed, if a part of the configuration does not work.
 */
export async function startLocalServer(
  environment: Environment,
  { passwordCost, workerFolder = null }: LocalServerOptions = {},
): Promise<LocalServer> {
  const config = readConfig(localVariables, environment);
  const listen = readConfig(listenVariables, environment);
  rejectShortSecret(config);
  const { BASE_PATH: basePath } = listen;
  rejectOwnPath(basePath);
  const redactor = createRedactor(configuredSecrets(environment));
  const log = createLog(config.LOG_LEVEL, systemClock, undefined, redactor);
  const { db, embedded } = await openLocalDatabase(config, log);
  let restores: RestoreJobs | null = null;
  try {
    await migrate(db, MIGRATIONS);
    const reason = await explainMissingVectors(db);
    if (reason !== null) log.warn('search uses only full text', { reason });
    await makeDefaultArchiveFolder(config, log);
    const pendingWork = new PendingWork();
    const deps = buildDeps({
      config,
      db,
      redis: openRedis(config),
      log,
      redactor,
      clock: systemClock,
      fetch,
      waitUntil: pendingWork.add,
    });
    const archives = createServedArchives(deps);
    const outageMemory = rememberInFolder(config.DATA_DIR, (error) =>
      log.error('the state of database outage alerts could not be saved', { error }),
    );
    restores = await openRestoreJobs({
      ...{ config, db, log, clock: systemClock, environment },
      script: join(import.meta.dirname, 'worker.ts'),
    });
    // Started once the server listens, because the worker may need its database.
    let scheduler: Scheduler | null = null;
    const backups = createBackupsApp(deps, {
      ...{ archives, restores, outageMemory },
      trySource: openTrials(environment, config),
      scheduler: workerFolder === null ? null : { wake: () => scheduler?.wake() },
    });
    const live = createLiveApp(deps);
    const stopping = new AbortController();
    const loginCodes = new LoginCodes(systemClock);
    const apps = {
      backups,
      live: live.app,
      observatory: createObservatoryApp(deps, {
        askServiceApi: async (signal) => backups.request('/health', { signal }),
        stopping: stopping.signal,
        loginCodes,
        hasMcpToken: hasMcpToken(environment),
        explainMissingArchives: archives.explainMissing,
        passwordCost,
      }),
      mcp: createMcpApp(
        { ...deps, config: { ...config, BACKEND_URL: config.BACKEND_URL ?? ownUrl(listen) } },
        { stopping: stopping.signal },
      ),
    };
    const page = createPageApp(PAGE_FOLDER, deps);
    const proxies = parseNetworks(config.TRUSTED_PROXIES);
    /** The base path that a trusted proxy names, which removes it from the requests. */
    const forwardedPrefix = ({ headers, socket }: IncomingMessage): string => {
      const prefix = headers['x-forwarded-prefix'];
      if (prefix === undefined || !isInNetworks(socket.remoteAddress ?? '', proxies)) return '';
      return listenVariables.shape.BASE_PATH.safeParse(prefix).data ?? '';
    };
    const server = await serveNode({
      fetch(request, bindings) {
        const { pathname } = new URL(request.url);
        const base = basePath || forwardedPrefix(bindings.incoming);
        bindings.basePath = base;
        if (opensPage(request)) return redirectTo(`${base}${PAGE_PATH}/`);
        if (isPagePath(pathname)) return page.fetch(request, bindings);
        return apps[findSurface(pathname).name].fetch(request, bindings);
      },
      host: listen.HOST,
      port: listenPort(listen),
      basePath,
      log,
      clock: systemClock,
      connections: chooseConnectionLimits(proxies),
    });
    await signResults(deps);
    const announcement = await announceServer(config.DATA_DIR, server.url, log);
    const repeating = [startStaleRunSweep({ ...deps, outageMemory })];
    if (db.driver === 'embedded') repeating.push(startMaintenance(db, deps));
    if (workerFolder !== null) scheduler = await schedule(deps, environment, workerFolder);
    const url = `${server.url}${basePath}`;
    return {
      url,
      host: listen.HOST,
      embedded,
      issueLoginLink() {
        const { AUTH_USERNAME: username, AUTH_PASSWORD: password, JWT_SECRET: key } = config;
        if (username === undefined || password === undefined || key === undefined) return null;
        // In the fragment, which a browser never sends to a server.
        return `${url}${PAGE_PATH}/login#${loginCodes.issue(username)}`;
      },
      async close() {
        stopping.abort();
        const timing = { clock: systemClock, log };
        // It records its end in the database.
        await endInTime({ scheduler: scheduler?.close() }, timing);
        await endInTime({ announcement: announcement.close() }, timing);
        await endInTime(
          {
            streams: live.close(),
            requests: server.close(),
            restores: restores?.close(),
            'repeated work': Promise.all(repeating.map((work) => work.stop())),
          },
          timing,
        );
        await endInTime({ 'pending work': pendingWork.settled() }, timing);
        await endInTime({ database: db.close() }, timing);
      },
    };
  } catch (error) {
    await restores?.close();
    await db.close();
    throw error;
  }
}

/** Starts the runs that are due, in a process of the worker. */
async function schedule(
  deps: Deps<LocalConfig>,
  environment: Environment,
  folder: string,
): Promise<Scheduler> {
  const { config, databaseUse, clock, log, fetch } = deps;
  const { BACKUP_EVERY: timing, BACKUP_TIME_ZONE: timeZone } = config;
  const { unrecorded: db } = databaseUse;
  const dataFolder = resolve(config.DATA_DIR);
  await makeArchiveFolder(dataFolder);
  return startScheduler({
    ...{ db, clock, log, lastUse: databaseUse.lastUse },
    machine: await identify(dataFolder),
    declared: timing === undefined ? null : { timing, timeZone },
    startWorker: (args) =>
      startWorkerProcess(args, {
        ...{ launcher: LAUNCHER, environment, folder, log },
        memoryMib: config.WORKER_MEMORY_MIB,
      }),
    async onCrash() {
      await endDeadRun(db, dataFolder);
      const channels = await openAlertChannels(config, { db, fetch, clock });
      const mailboxes = openMailboxes(config, { fetch, clock });
      await raiseAlerts({ db, clock, log, config, channels, mailboxes });
    },
  });
}

/** Otherwise a request for `/app/…` could mean two things: proxies may remove the base path or keep it. */
function rejectOwnPath(basePath: string): void {
  const first = (path: string) => path.split('/', 2)[1];
  const own = [PAGE_PATH, ...surfaces.flatMap(({ paths }) => paths)].map(first);
  if (basePath === '' || !own.includes(first(basePath))) return;
  throw new ConfigError(
    `BASE_PATH must not begin with /${first(basePath)}, which is a path of this server: use another one, such as /backup`,
  );
}

function redirectTo(path: string): Response {
  return new Response(null, { status: 302, headers: { Location: path, Vary: 'Accept' } });
}

/**
 * Creates the default archive folder, so that its disk can be inspected before the first backup. Does not
 * create BACKUP_ARCHIVE_PATH, which may be on a disk that is not mounted.
 */
async function makeDefaultArchiveFolder(config: LocalConfig, log: Log): Promise<void> {
  if (config.BACKUP_ARCHIVE_PATH !== undefined) return;
  try {
    await makeArchiveFolder(archivePath(config));
  } catch (error) {
    log.warn('could not create the archive folder', { error });
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

/** The TCP port of the embedded database and its password; null without a port. */
function readPort({
  EMBEDDED_DB_PORT: port,
  EMBEDDED_DB_PASSWORD: password,
}: DatabaseConfig): { port: number; password: string } | null {
  if (port === 0) return null;
  if (password !== undefined) return { port, password };
  throw new ConfigError(
    `EMBEDDED_DB_PASSWORD must be set, with at least ${MIN_SECRET_LENGTH} characters, if EMBEDDED_DB_PORT is`,
  );
}

import { EventEmitter } from 'node:events';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log/log.ts';
import type { Database } from '../database.ts';
import { openPgDatabase } from '../pg.ts';
import { embeddedSocket, embeddedUrl } from './address.ts';
import type { Shared } from './client-session.ts';
import { readDefaults } from './client-settings.ts';
import { type DataDirectory, openDataDirectory } from './data-directory.ts';
import { Engine, EngineBroken } from './engine.ts';
import { LeaseQueue } from './lease-queue.ts';
import { FatalError } from './messages.ts';
import { DatabaseServer, type PortOptions } from './server.ts';
import { SharedSession } from './shared-session.ts';
import { startTimeLimit } from './time-limit.ts';

export interface EmbeddedDatabaseOptions {
  /** The data is stored in its subfolder `postgres`. */
  dataDir: string;
  /** A TCP port for clients that cannot use the socket; null opens none. */
  listen: PortOptions | null;
  log: Log;
  clock: Clock;
  /** Milliseconds that a statement of this process may wait until it is its turn. Default 60,000. */
  maxWaitMs?: number;
}

export interface EmbeddedDatabase extends Database {
  /** Its socket URL, for other processes of this user. */
  readonly url: string;
  /** Its TCP URL, with the password; null without a port. */
  readonly portUrl: string | null;
}

/** Statements run one at a time anyway. What waits here, and not for the lease, is shared fairly among users. */
const OWN_CONNECTIONS = 1;
/** How long a running statement may continue when the database closes. */
const CLOSE_TIMEOUT_MS = 10_000;

const shutdown = new FatalError('57P01', 'the database is shutting down');

/**
 * Opens the database in a thread of this process: PGlite (Postgres 18) with pgvector available. This
 * process is a client like any other, over a Unix socket in the data directory.
 *
 * All clients share one session by leasing it in turn. Committed data survives even a killed process, but
 * PGlite has no fsync: a crash of the machine may damage it.
 *
 * Throws a one-line ConfigError when the port is taken or the data directory cannot be used.
 */
export async function openEmbeddedDatabase({
  dataDir,
  listen,
  log,
  clock,
  maxWaitMs,
}: EmbeddedDatabaseOptions): Promise<EmbeddedDatabase> {
  const closers: (() => Promise<void>)[] = [];
  const closeAll = async () => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    const directory = await openDataDirectory(dataDir, log);
    closers.push(directory.release);
    const server = new DatabaseServer(log);
    closers.push(() => server.close());
    await server.listenOnSocket(embeddedSocket(dataDir));
    const portUrl = listen && (await server.listenOnPort(listen));
    const start = () => startEngine(directory);
    const session = new SharedSession(await start(), {
      start,
      onStopped: () => server.endClients(new FatalError('57P02', 'the embedded database stopped')),
      clock,
      log,
    });
    closers.push(() => session.close());
    const defaults = await readDefaults(session);
    const leases = new LeaseQueue();
    const starts = new EventEmitter();
    const shared = { session, leases, defaults, creators: new Set<object>(), starts, log, clock };
    server.serve(shared);
    const url = embeddedUrl(dataDir);
    const own = openPgDatabase({
      ...{ url, fetch, log, maxConnections: OWN_CONNECTIONS },
      // Connections stay open to keep statements prepared; each query has its own timeout.
      ...{ idleTimeoutMs: 0, connectTimeoutMs: 0 },
      ...(maxWaitMs === undefined ? {} : { maxWaitMs }),
      onceRunning(processId, report) {
        const id = String(processId);
        starts.once(id, report);
        return () => starts.off(id, report);
      },
      giveWay: (processId, budgetMs) => server.hasten(processId, budgetMs),
    });
    let closing: Promise<void> | null = null;
    return {
      driver: 'embedded',
      url,
      portUrl,
      query: own.query,
      poolStats() {
        const total = server.clients;
        const waiting = leases.waiting + own.poolStats().waiting;
        return { total, idle: total - leases.waiting - (leases.held ? 1 : 0), waiting };
      },
      close() {
        closing ??= (async () => {
          const finished = finish(shared);
          await own.close();
          await server.close();
          await finished;
          await closeAll();
        })();
        return closing;
      },
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

async function startEngine(directory: DataDirectory): Promise<Engine> {
  try {
    const engine = await Engine.start(directory.folder);
    await directory.confirm();
    return engine;
  } catch (error) {
    throw error instanceof EngineBroken ? directory.damaged(error.message) : error;
  }
}

/** Refuses new statements and resolves when the running one has finished or was ended. */
async function finish({ leases, session, clock }: Shared): Promise<void> {
  const end = () => session.kill(shutdown);
  const lift = startTimeLimit({ clock, limitMs: CLOSE_TIMEOUT_MS, end });
  await leases.close(shutdown);
  lift();
}

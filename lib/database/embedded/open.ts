import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Database } from '../database.ts';
import { openPgDatabase } from '../pg.ts';
import { embeddedSocket, embeddedUrl } from './address.ts';
import { EmbeddedBackend } from './backend.ts';
import { type DataDirectory, openDataDirectory } from './data-directory.ts';
import { Engine, EngineBroken } from './engine.ts';
import { LeaseQueue } from './lease-queue.ts';
import type { SharedSession } from './session-client.ts';
import { SessionLeftovers } from './session-leftovers.ts';
import { type PortOptions, portListener, socketListener, urlOfPort } from './wire-listener.ts';
import { FatalError } from './wire-messages.ts';
import { WireServer } from './wire-server.ts';
import { SharedSettings } from './wire-settings.ts';

export interface EmbeddedDatabaseOptions {
  /** The data is stored in its subfolder `postgres`; null keeps it in memory. */
  dataDir: string | null;
  /** A TCP port for clients that cannot use the socket; null opens none. */
  listen: PortOptions | null;
  log: Log;
  clock: Clock;
}

export interface EmbeddedDatabase extends Database {
  /** Its socket URL, for other processes of this user. */
  readonly url: string;
  /** Its TCP URL, with the password; null without a port. */
  readonly portUrl: string | null;
}

/** Statements run one at a time, so more connections would only add preparing. */
const OWN_CONNECTIONS = 4;
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
}: EmbeddedDatabaseOptions): Promise<EmbeddedDatabase> {
  const closers: (() => Promise<void>)[] = [];
  const closeAll = async () => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    const directory = dataDir === null ? null : await openDataDirectory(dataDir, log);
    if (directory !== null) closers.push(directory.release);
    const place = dataDir ?? (await mkdtemp(join(tmpdir(), 'observatory-')));
    if (dataDir === null) closers.push(() => rm(place, { recursive: true, force: true }));
    const server = new WireServer(log);
    closers.push(() => server.close());
    await server.listen(socketListener(embeddedSocket(place)));
    const port = listen && (await portListener(listen));
    if (port !== null) await server.listen(port);
    const backend = await EmbeddedBackend.start({
      start: engineStarter(directory),
      restartable: directory !== null,
      onStopped: () => server.endClients(new FatalError('57P02', 'the embedded database stopped')),
      clock,
      log,
    });
    closers.push(() => backend.close());
    const settings = await SharedSettings.read(backend);
    const leases = new LeaseQueue();
    const shared = { backend, settings, leases, leftovers: new SessionLeftovers(), log, clock };
    server.serve(shared);
    const url = embeddedUrl(place);
    const own = openPgDatabase({
      ...{ url, fetch, log, maxConnections: OWN_CONNECTIONS },
      // Connections stay open to keep statements prepared; each query has its own timeout.
      ...{ idleTimeoutMs: 0, connectTimeoutMs: 0 },
    });
    let closing: Promise<void> | null = null;
    return {
      driver: 'embedded',
      url,
      portUrl: listen && port && urlOfPort(port, listen.password),
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

/** Starts the engine, reusing the module compiled by the first start. */
function engineStarter(directory: DataDirectory | null): () => Promise<Engine> {
  let compiled: WebAssembly.Module | null = null;
  return async () => {
    try {
      const started = await Engine.start({ folder: directory?.folder ?? null, compiled });
      compiled = started.compiled;
      await directory?.confirm();
      return started.engine;
    } catch (error) {
      if (directory === null || !(error instanceof EngineBroken)) throw error;
      throw directory.damaged(error.message);
    }
  };
}

/** Refuses new statements and resolves when the running one has finished or was ended. */
async function finish({ leases, backend, clock }: SharedSession): Promise<void> {
  const done = new AbortController();
  clock.sleep(CLOSE_TIMEOUT_MS, done.signal).then(
    () => backend.end(shutdown),
    () => undefined, // finished in time
  );
  await leases.close(shutdown);
  done.abort();
}

import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import type { Clock } from '../clock.ts';
import { ConfigError } from '../config.ts';
import type { Log } from '../log.ts';
import { type DataDirectory, openDataDirectory } from './data-directory.ts';
import { type Database, databaseUnavailable } from './database.ts';
import { EmbeddedBackend } from './embedded-backend.ts';
import { InProcessClient } from './in-process-client.ts';
import type { SharedSession } from './session-client.ts';
import { SessionLeftovers } from './session-leftovers.ts';
import { TurnQueue } from './turn-queue.ts';
import { FatalError } from './wire-messages.ts';
import { WireServer } from './wire-server.ts';
import { SharedSettings } from './wire-settings.ts';

export interface EmbeddedDatabaseOptions {
  /** Where the data is kept, in the folder `postgres`; null keeps it in memory. */
  dataDir: string | null;
  /** The port on 127.0.0.1 for other processes, 0 for any free one; null does not listen. */
  listen: { port: number } | null;
  log: Log;
  clock: Clock;
}

export interface EmbeddedDatabase extends Database {
  /** `postgres://postgres@127.0.0.1:<port>/postgres`, or null when it does not listen. */
  readonly url: string | null;
}

/**
 * Opens the database inside this process: PGlite (Postgres 18) with pgvector available. (decisions 2)
 *
 * It is one session that statements of this process and of all clients take turns in; a statement
 * blocks the event loop while it runs. What is committed outlives the process, also a killed one, but
 * PGlite has no fsync: a crash of the machine may damage it.
 *
 * Throws ConfigError with one line when the port is taken or the data directory cannot be used.
 */
export async function openEmbeddedDatabase(
  options: EmbeddedDatabaseOptions,
): Promise<EmbeddedDatabase> {
  const { dataDir, listen } = options;
  const closers: (() => Promise<void>)[] = [];
  const closeAll = async () => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    const directory = dataDir === null ? null : await openDataDirectory(dataDir);
    if (directory !== null) closers.push(directory.release);
    const server = listen === null ? null : await WireServer.listen(listen.port);
    if (server !== null) closers.push(() => server.close());
    const pglite = await startPGlite(directory);
    closers.push(() => pglite.close());
    const shared = await shareSession(pglite, server, options);
    const client = await InProcessClient.connect(shared);
    server?.serve(shared);
    const { turns } = shared;
    let closing: Promise<void> | null = null;
    return {
      driver: 'embedded',
      url: server?.url ?? null,
      query: (statement, values, queryOptions) => client.query(statement, values, queryOptions),
      poolStats() {
        const total = 1 + (server?.clients ?? 0);
        return { total, idle: total - (turns.held ? 1 : 0), waiting: turns.waiting };
      },
      close() {
        closing ??= (async () => {
          const idle = turns.close(databaseUnavailable(new Error('the database is closing')));
          await server?.close();
          await idle;
          await client.close();
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

/** PGlite in its folder, or in memory. Throws ConfigError when what the folder holds does not start. */
async function startPGlite(directory: DataDirectory | null): Promise<PGlite> {
  const extensions = { vector };
  if (directory === null) return PGlite.create({ extensions });
  try {
    const pglite = await PGlite.create(directory.folder, { extensions });
    await directory.confirm();
    return pglite;
  } catch (error) {
    throw new ConfigError(
      'DATA_DIR holds an embedded database that does not start; it is damaged',
      {
        cause: error,
      },
    );
  }
}

async function shareSession(
  pglite: PGlite,
  server: WireServer | null,
  { log, clock }: EmbeddedDatabaseOptions,
): Promise<SharedSession> {
  const backend = new EmbeddedBackend(pglite, (error) => {
    log.error('the embedded database stopped; it must be started again', { error });
    server?.endClients(new FatalError('57P02', 'the embedded database stopped'));
  });
  return {
    backend,
    settings: await SharedSettings.read(backend),
    leftovers: new SessionLeftovers(),
    turns: new TurnQueue(),
    log,
    clock,
  };
}

import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { type Database, databaseUnavailable } from '../database.ts';
import { EmbeddedBackend } from './backend.ts';
import { openDataDirectory } from './data-directory.ts';
import { InProcessClient } from './in-process-client.ts';
import { SessionLeftovers } from './session-leftovers.ts';
import { startPostgres } from './start-postgres.ts';
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
    const directory = dataDir === null ? null : await openDataDirectory(dataDir);
    if (directory !== null) closers.push(directory.release);
    const server = listen === null ? null : await WireServer.listen(listen.port, log);
    if (server !== null) closers.push(() => server.close());
    const backend = await EmbeddedBackend.start({
      start: () => startPostgres(directory),
      restartable: directory !== null,
      onStopped: () => server?.endClients(new FatalError('57P02', 'the embedded database stopped')),
      log,
    });
    closers.push(() => backend.close());
    const settings = await SharedSettings.read(backend);
    const turns = new TurnQueue();
    const shared = { backend, settings, turns, leftovers: new SessionLeftovers(), log, clock };
    const client = await InProcessClient.connect(shared);
    server?.serve(shared);
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

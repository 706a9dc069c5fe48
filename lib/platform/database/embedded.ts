import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Database } from './database.ts';
import { translateDatabaseError } from './failure.ts';

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
 * Throws ConfigError with one line when the port is taken or the data directory cannot be used.
 */
export async function openEmbeddedDatabase({
  dataDir,
}: EmbeddedDatabaseOptions): Promise<EmbeddedDatabase> {
  const folder = dataDir === null ? null : join(dataDir, 'postgres');
  if (folder !== null) await mkdir(folder, { recursive: true, mode: 0o700 });
  const pglite = await PGlite.create(folder ?? 'memory://', { extensions: { vector } });
  return {
    driver: 'embedded',
    url: null,
    async query<Row>({ text }: { text: string }, values: readonly unknown[] = []) {
      try {
        return (await pglite.query<Row>(text, [...values])).rows;
      } catch (error) {
        throw translateDatabaseError(error);
      }
    },
    poolStats: () => ({ total: 1, idle: 0, waiting: 0 }),
    close: () => pglite.close(),
  };
}

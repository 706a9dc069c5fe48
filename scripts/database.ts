import { connect } from 'node:net';
import { systemClock } from '../lib/platform/clock.ts';
import type { DatabaseConfig } from '../lib/platform/config/database.ts';
import type { Database } from '../lib/platform/database/database.ts';
import { openDatabase } from '../lib/platform/database/open.ts';
import type { Log } from '../lib/platform/log.ts';

/** The embedded database of a running `npm start`, as another process reaches it (decisions 2). */
export function embeddedUrl({ EMBEDDED_DB_PORT }: DatabaseConfig): string {
  return `postgres://postgres@127.0.0.1:${EMBEDDED_DB_PORT}/postgres`;
}

/**
 * Opens the database that the configuration names, for a command that must work with and without a
 * running server: DATABASE_URL, else the embedded database of a running server, else the one in
 * DATA_DIR.
 */
export async function openConfiguredDatabase(config: DatabaseConfig, log: Log): Promise<Database> {
  const url = config.DATABASE_URL ?? (await urlOfRunningServer(config));
  if (url !== null) return openDatabase({ url, fetch, log });
  // Loaded only where it is used: the worker, say, never needs it.
  const { openEmbeddedDatabase } = await import('../lib/platform/database/embedded/open.ts');
  return openEmbeddedDatabase({ dataDir: config.DATA_DIR, listen: null, log, clock: systemClock });
}

/** The URL of the embedded database of a running server; null when none listens. */
export async function urlOfRunningServer(config: DatabaseConfig): Promise<string | null> {
  if (config.EMBEDDED_DB_PORT === 0) return null;
  return (await listens(config.EMBEDDED_DB_PORT)) ? embeddedUrl(config) : null;
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    const answer = (listening: boolean) => {
      socket.destroy();
      resolve(listening);
    };
    socket.once('connect', () => answer(true)).once('error', () => answer(false));
  });
}

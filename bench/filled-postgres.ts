import { Client } from 'pg';
import { systemClock } from '../lib/clock.ts';
import { migrate } from '../lib/database/migrate.ts';
import { openDatabase } from '../lib/database/open.ts';
import { createLog } from '../lib/log.ts';
import { type PostgresServer, startPostgres } from '../tests/support/postgres-server.ts';
import { fullScale, generate, type Scale } from './api/data.ts';

/** Typical server settings, with enough memory that the disk is not what gets measured. */
export const usedSettings = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  autovacuum: 'on',
  shared_buffers: '2GB',
  max_wal_size: '8GB',
};

/** The fraction given with `--scale`, by default 1. Throws if it is not a fraction. */
export function scaled(option: string | undefined): Scale {
  const share = Number(option ?? 1);
  if (!(share > 0 && share <= 1)) throw new Error('--scale must be above 0 and at most 1');
  return { ...fullScale, runs: Math.max(100, Math.round(fullScale.runs * share)) };
}

/** Starts a real Postgres with as many runs, results and logs as `scale` says. */
export async function startFilledPostgres(scale: Scale): Promise<PostgresServer> {
  const postgres = await startPostgres(usedSettings);
  try {
    const log = createLog('warn', systemClock);
    const database = await openDatabase({ url: postgres.url, fetch, log });
    await migrate(database, 'drizzle');
    await database.close();
    const client = await connect(postgres.url);
    await generate(client, scale);
    await client.end();
    return postgres;
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}

/** A connection that reports when it is lost, so that the reason for a failed run is not hidden. */
export async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', (error) => process.stderr.write(`${error.message}\n`));
  await client.connect();
  return client;
}

import { Client } from 'pg';
import { systemClock } from '../lib/clock.ts';
import { migrate } from '../lib/database/migrate.ts';
import { openDatabase } from '../lib/database/open.ts';
import { createLog } from '../lib/log/log.ts';
import { type PostgresServer, startPostgres } from '../tests/support/postgres-server.ts';
import { fullScale, generate, type Scale } from './api/data.ts';
import { times } from './share.ts';

/** Typical server settings, with enough memory that the disk is not what gets measured. */
export const usedSettings = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  autovacuum: 'on',
  shared_buffers: '2GB',
  max_wal_size: '8GB',
};

/** The rows of a database at the fraction of `--scale`: fewer runs, and below a tenth also fewer logs of each. */
export const scale: Scale = {
  ...fullScale,
  runs: times(fullScale.runs),
  logsPerRun: Math.min(fullScale.logsPerRun, times(10 * fullScale.logsPerRun)),
};

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

import { Client } from 'pg';
import { systemClock } from '../lib/clock.ts';
import { migrate } from '../lib/database/migrate.ts';
import { openDatabase } from '../lib/database/open.ts';
import { createLog } from '../lib/log.ts';
import { type PostgresServer, startPostgres } from '../tests/support/postgres-server.ts';
import { fullScale, generate, type Scale } from './api/data.ts';

/** As a server in use has it, with memory enough that the figures are not of the disk. */
export const usedSettings = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  autovacuum: 'on',
  shared_buffers: '2GB',
  max_wal_size: '8GB',
};

/** The share of the full scale that `--scale` asks for, by default all of it. Throws if it is no share. */
export function scaled(option: string | undefined): Scale {
  const share = Number(option ?? 1);
  if (!(share > 0 && share <= 1)) throw new Error('--scale is above 0 and at most 1');
  return { ...fullScale, runs: Math.max(100, Math.round(fullScale.runs * share)) };
}

/** A real Postgres of its own with as many runs, results and logs as `scale` says. */
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

/** A connection that says when it was lost, so that it does not hide why a run failed. */
export async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', (error) => process.stderr.write(`${error.message}\n`));
  await client.connect();
  return client;
}

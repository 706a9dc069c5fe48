import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { systemClock } from '../../lib/clock.ts';
import { migrate } from '../../lib/database/migrate.ts';
import { openDatabase } from '../../lib/database/open.ts';
import { createLog } from '../../lib/log.ts';
import { startPostgres } from '../../tests/support/postgres-server.ts';
import { type ServerProcess, startServer } from '../servers.ts';
import { fullScale, generate, type Scale } from './data.ts';
import { measureLatency } from './latency.ts';
import { measureThroughput } from './throughput.ts';
import { measureWrites } from './writes.ts';

/**
 * `npm run bench -- api [--scale 0.1]`: the figures of the service API on a real Postgres, each beside
 * the plain way to the same answer, measured in the same run.
 */
export async function runApiBenchmark(options: string[]): Promise<void> {
  const { values } = parseArgs({ args: options, options: { scale: { type: 'string' } } });
  const scale = scaled(Number(values.scale ?? 1));
  const folder = await mkdtemp(join(tmpdir(), 'bench-api-'));
  const postgres = await startPostgres(serverSettings);
  const servers: ServerProcess[] = [];
  try {
    const { url } = postgres;
    await prepare(url, scale);
    const secret = randomBytes(32).toString('base64url');
    const environment = {
      DATABASE_URL: url,
      DATA_DIR: folder,
      INTERNAL_SECRET: secret,
      EMBEDDED_DB_PORT: '0',
    };
    const ours = await startServer('scripts/start.ts', 18080, environment, '/health');
    servers.push(ours);
    const bare = await startServer('bench/api/bare-server.ts', 18081, { DATABASE_URL: url }, '/');
    servers.push(bare);

    const client = await connect(url);
    await measureLatency(ours.url, secret, client, scale);
    await measureThroughput(ours.url, bare.url, secret);
    await measureWrites(client);
    await client.end();
  } finally {
    for (const server of servers) await server.stop();
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** As a server in use has it, with memory enough that the figures are not of the disk. */
const serverSettings = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  autovacuum: 'on',
  shared_buffers: '2GB',
  max_wal_size: '8GB',
};

function scaled(share: number): Scale {
  if (!(share > 0 && share <= 1)) throw new Error('--scale is above 0 and at most 1');
  return { ...fullScale, runs: Math.max(100, Math.round(fullScale.runs * share)) };
}

async function prepare(url: string, scale: Scale): Promise<void> {
  const log = createLog('warn', systemClock);
  const database = await openDatabase({ url, fetch, log });
  await migrate(database, 'drizzle');
  await database.close();
  const client = await connect(url);
  await generate(client, scale);
  await client.end();
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  // A server that stops at the end of a failed run must not hide why it failed.
  client.on('error', (error) => process.stderr.write(`${error.message}\n`));
  await client.connect();
  return client;
}

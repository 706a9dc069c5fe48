import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { systemClock } from '../../lib/platform/clock.ts';
import { migrate } from '../../lib/platform/database/migrate.ts';
import { openDatabase } from '../../lib/platform/database/open.ts';
import { createLog } from '../../lib/platform/log.ts';
import { findFreePort } from '../../scripts/free-port.ts';
import { startPostgres } from '../../tests/support/postgres-server.ts';
import { startServer } from '../servers.ts';
import { generateLogs } from './data.ts';
import { logIn, measureSearchLatency } from './latency.ts';
import { measureProcessBatch } from './process-batch.ts';
import { measureQuality } from './quality.ts';
import { embedChunks, measureRecall } from './vectors.ts';
import { measureIndexWrites } from './writes.ts';

const FULL = { logs: 5_000_000, embeddedLogs: 500_000, chunks: 20_000, jobs: 100_000 };
const log = createLog('warn', systemClock);

/**
 * `npm run bench -- search [--scale 0.1] [--only quality,batches,postgres,embedded]`: how well search finds, and
 * how fast: full text over 5,000,000 logs on a real Postgres; with vectors on the embedded database,
 * which is what has pgvector here, over a tenth of the sizes.
 */
export async function runSearchBenchmark(options: string[]): Promise<void> {
  const { values } = parseArgs({
    args: options,
    options: { scale: { type: 'string' }, only: { type: 'string' } },
  });
  const share = Number(values.scale ?? 1);
  if (!(share > 0 && share <= 1)) throw new Error('--scale is above 0 and at most 1');
  const only = values.only?.split(',');
  const parts: Record<string, () => Promise<void>> = {
    quality: measureQuality,
    batches: () => measureProcessBatch(Math.round(FULL.jobs * share)),
    postgres: () => measurePostgres(Math.round(FULL.logs * share)),
    embedded: () =>
      measureEmbedded(Math.round(FULL.embeddedLogs * share), Math.round(FULL.chunks * share)),
  };
  const unknown = only?.find((name) => !Object.hasOwn(parts, name));
  if (unknown !== undefined) throw new Error(`--only takes ${Object.keys(parts).join(', ')}`);
  for (const [name, measure] of Object.entries(parts)) {
    if (only === undefined || only.includes(name)) await measure();
  }
}

const user = { username: 'bench', password: 'the password of the benchmark' };

/** The environment of a server with one user. */
function serverEnvironment(folder: string) {
  const secret = randomBytes(32).toString('base64url');
  const environment = {
    DATA_DIR: folder,
    INTERNAL_SECRET: secret,
    JWT_SECRET: randomBytes(32).toString('base64url'),
    AUTH_USERNAME: user.username,
    AUTH_PASSWORD: user.password,
    LOG_LEVEL: 'error',
  };
  return { secret, environment };
}

async function measurePostgres(logs: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-search-'));
  const postgres = await startPostgres({
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    autovacuum: 'on',
    shared_buffers: '2GB',
    max_wal_size: '8GB',
  });
  try {
    const { url } = postgres;
    const db = await openDatabase({ url, fetch, log });
    await migrate(db, 'drizzle');
    await db.close();
    const client = await connect(url);
    await generateLogs(client, logs);
    const { secret, environment } = serverEnvironment(folder);
    const server = await startServer(
      'scripts/start.ts',
      await findFreePort(18_090),
      { ...environment, DATABASE_URL: url, EMBEDDED_DB_PORT: '0' },
      '/health',
    );
    try {
      const searching = await logIn(server.url, { ...user, secret });
      await measureSearchLatency(
        `POST /search, full text alone, Postgres, ${logs} logs, one client`,
        searching,
      );
    } finally {
      await server.stop();
    }
    await measureIndexWrites(client);
    await client.end();
  } finally {
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function measureEmbedded(logs: number, chunks: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-search-'));
  const { secret, environment } = serverEnvironment(folder);
  const databasePort = await findFreePort(18_092);
  const server = await startServer(
    'scripts/start.ts',
    await findFreePort(18_090),
    { ...environment, EMBEDDED_DB_PORT: String(databasePort) },
    '/health',
  );
  try {
    const url = `postgres://postgres@127.0.0.1:${databasePort}/postgres`;
    const client = await connect(url);
    await generateLogs(client, logs);
    await client.end();
    const db = await openDatabase({ url, fetch, log });
    await embedChunks(db, chunks);
    await measureRecall(db, chunks);
    await db.close();
    const searching = await logIn(server.url, { ...user, secret });
    await measureSearchLatency(
      `POST /search, hybrid, embedded database, ${logs} logs and ${chunks} chunks, one client`,
      searching,
    );
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  // A server that stops at the end of a failed run must not hide why it failed.
  client.on('error', (error) => process.stderr.write(`${error.message}\n`));
  await client.connect();
  return client;
}

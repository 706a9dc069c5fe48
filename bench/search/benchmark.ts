import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../../lib/clock.ts';
import { embeddedUrl } from '../../lib/database/embedded/address.ts';
import { migrate } from '../../lib/database/migrate.ts';
import { openDatabase } from '../../lib/database/open.ts';
import { createLog } from '../../lib/log/log.ts';
import { findFreePort } from '../../scripts/free-port.ts';
import { startPostgres } from '../../tests/support/postgres-server.ts';
import { connect, usedSettings } from '../filled-postgres.ts';
import { startServer } from '../servers.ts';
import { times } from '../share.ts';
import { measureAdversarialSearches } from './adversarial.ts';
import { generateLogs } from './data.ts';
import { logIn, measureSearchLatency } from './latency.ts';
import { measureProcessBatch } from './process-batch.ts';
import { measureQuality } from './quality.ts';
import { embedChunks, measureRecall } from './vectors.ts';
import { measureIndexWrites } from './writes.ts';

const FULL = { logs: 5_000_000, embeddedLogs: 500_000, chunks: 20_000, jobs: 100_000 };
const log = createLog('warn', systemClock);

/**
 * `npm run bench -- search [--scale 0.1] [--only quality,batches,postgres,embedded,adversarial]`: measures the
 * quality and speed of search: full text over 5,000,000 logs on a real Postgres; vectors over a tenth of that on the
 * embedded database, because only that has pgvector here; adversarial queries on both.
 */
export async function runSearchBenchmark(options: string[]): Promise<void> {
  const { values } = parseArgs({
    args: options,
    options: { only: { type: 'string' } },
  });
  const only = values.only?.split(',');
  const parts = ['quality', 'batches', 'postgres', 'embedded', 'adversarial'];
  const unknown = only?.find((name) => !parts.includes(name));
  if (unknown !== undefined) throw new Error(`--only takes ${parts.join(', ')}`);
  const wants = (part: string) => only === undefined || only.includes(part);

  if (wants('quality')) await measureQuality();
  if (wants('batches')) await measureProcessBatch(times(FULL.jobs));
  const isAdversarial = wants('adversarial');
  if (wants('postgres') || isAdversarial) {
    const isUsual = wants('postgres');
    await measurePostgres(times(FULL.logs), { isUsual, isAdversarial });
  }
  if (wants('embedded') || isAdversarial) {
    const isUsual = wants('embedded');
    const logs = times(FULL.embeddedLogs);
    await measureEmbedded(logs, times(FULL.chunks), { isUsual, isAdversarial });
  }
}

/** Which queries to measure. */
interface Measures {
  isUsual: boolean;
  isAdversarial: boolean;
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
    USER_MAX_REQUESTS_PER_MINUTE: '1000000',
    AUTH_PASSWORD: user.password,
    LOG_LEVEL: 'error',
  };
  return { secret, environment };
}

async function measurePostgres(logs: number, { isUsual, isAdversarial }: Measures): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-search-'));
  const postgres = await startPostgres(usedSettings);
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
      const what = `full text alone, Postgres, ${logs} logs, one client`;
      if (isUsual) await measureSearchLatency(`POST /search, ${what}`, searching);
      if (isAdversarial)
        await measureAdversarialSearches(`Adversarial searches, ${what}`, searching);
    } finally {
      await server.stop();
    }
    if (isUsual) await measureIndexWrites(client);
    await client.end();
  } finally {
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function measureEmbedded(
  logs: number,
  chunks: number,
  { isUsual, isAdversarial }: Measures,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-search-'));
  const { secret, environment } = serverEnvironment(folder);
  const server = await startServer(
    'scripts/start.ts',
    await findFreePort(18_090),
    environment,
    '/health',
  );
  try {
    const url = embeddedUrl(folder);
    const client = await connect(url);
    await generateLogs(client, logs);
    await client.end();
    const db = await openDatabase({ url, fetch, log });
    await embedChunks(db, chunks);
    if (isUsual) await measureRecall(db, chunks);
    await db.close();
    const searching = await logIn(server.url, { ...user, secret });
    const what = `hybrid, embedded database, ${logs} logs and ${chunks} chunks, one client`;
    if (isUsual) await measureSearchLatency(`POST /search, ${what}`, searching);
    if (isAdversarial) await measureAdversarialSearches(`Adversarial searches, ${what}`, searching);
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

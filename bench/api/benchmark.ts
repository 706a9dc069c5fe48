import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { connect, scaled, startFilledPostgres } from '../filled-postgres.ts';
import { type ServerProcess, startServer } from '../servers.ts';
import { measureLatency } from './latency.ts';
import { measureThroughput } from './throughput.ts';
import { measureWrites } from './writes.ts';

/**
 * `npm run bench -- api [--scale 0.1]`: measures the service API on a real Postgres, compared with plain statements for
 * the same response in the same run.
 */
export async function runApiBenchmark(options: string[]): Promise<void> {
  const { values } = parseArgs({ args: options, options: { scale: { type: 'string' } } });
  const scale = scaled(values.scale);
  const folder = await mkdtemp(join(tmpdir(), 'bench-api-'));
  const postgres = await startFilledPostgres(scale);
  const servers: ServerProcess[] = [];
  try {
    const { url } = postgres;
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

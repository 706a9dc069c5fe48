import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, scale, startFilledPostgres } from '../filled-postgres.ts';
import { type ServerProcess, startServer } from '../servers.ts';
import { manyRepositories, type Scale } from './data.ts';
import { measureLatency, measureManyRepositories } from './latency.ts';
import { measureThroughput } from './throughput.ts';
import { measureWrites } from './writes.ts';

/**
 * `npm run bench -- api [--scale 0.1]`: measures the service API on a real Postgres, compared with plain statements for
 * the same response in the same run.
 */
export async function runApiBenchmark(): Promise<void> {
  await withServers(scale, async ({ url, start }) => {
    const secret = randomBytes(32).toString('base64url');
    const ours = await start('scripts/start.ts', { INTERNAL_SECRET: secret }, '/health');
    const bare = await start('bench/api/bare-server.ts', {}, '/');
    const client = await connect(url);
    await measureLatency(ours.url, secret, client, scale);
    await measureThroughput(ours.url, bare.url, secret);
    await measureWrites(client);
    await client.end();
  });
  await withServers(manyRepositories, async ({ start }) => {
    const secret = randomBytes(32).toString('base64url');
    const environment = { INTERNAL_SECRET: secret };
    const ours = await start('scripts/start.ts', environment, '/health');
    const withJit = await start(
      'scripts/start.ts',
      { ...environment, PGOPTIONS: '-c jit=on -c max_parallel_workers_per_gather=2' },
      '/health',
    );
    await measureManyRepositories(ours.url, withJit.url, secret);
  });
}

/** What a measurement starts: the URL of a filled Postgres, and servers that use it. */
interface Servers {
  url: string;
  start(script: string, environment: Record<string, string>, probe: string): Promise<ServerProcess>;
}

/** Fills a Postgres for some work, and stops it and all servers afterwards. */
async function withServers(scale: Scale, work: (servers: Servers) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-api-'));
  const postgres = await startFilledPostgres(scale);
  const servers: ServerProcess[] = [];
  try {
    await work({
      url: postgres.url,
      async start(script, environment, probe) {
        const DATA_DIR = join(folder, String(servers.length));
        const all = { DATABASE_URL: postgres.url, DATA_DIR, EMBEDDED_DB_PORT: '0', ...environment };
        const server = await startServer(script, 18080 + servers.length, all, probe);
        servers.push(server);
        return server;
      },
    });
  } finally {
    for (const server of servers) await server.stop();
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

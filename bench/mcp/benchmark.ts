import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { systemClock } from '../../lib/platform/clock.ts';
import { migrate } from '../../lib/platform/database/migrate.ts';
import { openDatabase } from '../../lib/platform/database/open.ts';
import { createLog } from '../../lib/platform/log.ts';
import { startPostgres } from '../../tests/support/postgres-server.ts';
import { fullScale, generate } from '../api/data.ts';
import { measureArchives } from './archives.ts';
import { measureTools } from './tools.ts';
import { measureTransport } from './transport.ts';

/**
 * `npm run bench -- mcp [--scale 0.1]`: the figures of the MCP server, its tools and the archives on a real
 * Postgres, each beside the plain way to the same answer, measured in the same run.
 */
export async function runMcpBenchmark(options: string[]): Promise<void> {
  const { values } = parseArgs({ args: options, options: { scale: { type: 'string' } } });
  const share = Number(values.scale ?? 1);
  if (!(share > 0 && share <= 1)) throw new Error('--scale is above 0 and at most 1');
  const scale = { ...fullScale, runs: Math.max(100, Math.round(fullScale.runs * share)) };
  await measureArchives({ megabytes: 500 * share });
  const postgres = await startPostgres({ shared_buffers: '2GB', max_wal_size: '8GB' });
  try {
    const { url } = postgres;
    const log = createLog('warn', systemClock);
    const db = await openDatabase({ url, fetch, log });
    await migrate(db, 'drizzle');
    await measureTransport(url);
    await db.query({ text: 'TRUNCATE backup_runs RESTART IDENTITY CASCADE' });
    const client = new Client({ connectionString: url });
    await client.connect();
    await generate(client, scale);
    await client.end();
    await measureTools(db, scale);
    await db.close();
  } finally {
    await postgres.stop();
  }
}

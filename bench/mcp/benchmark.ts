import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { systemClock } from '../../lib/clock.ts';
import type { Database } from '../../lib/database/database.ts';
import { migrate } from '../../lib/database/migrate.ts';
import { openDatabase } from '../../lib/database/open.ts';
import { createLog } from '../../lib/log/log.ts';
import { startPostgres } from '../../tests/support/postgres-server.ts';
import { generate } from '../api/data.ts';
import { scale } from '../filled-postgres.ts';
import { times } from '../share.ts';
import { measureArchives } from './archives.ts';
import { measureTools } from './tools.ts';
import { measureTransport } from './transport.ts';

const parts = ['archives', 'transport', 'tools'];

/**
 * `npm run bench -- mcp [archives] [transport] [tools] [--scale 0.1]`: measures archives, the MCP transport and the
 * tools, or only the given ones. Archives and transport are compared with the plain way to the same result in the same
 * run.
 */
export async function runMcpBenchmark(options: string[]): Promise<void> {
  const { positionals } = parseArgs({ args: options, allowPositionals: true });
  const unknown = positionals.find((part) => !parts.includes(part));
  if (unknown !== undefined) throw new Error(`${unknown} is not one of ${parts.join(', ')}`);
  const asked = new Set(positionals.length === 0 ? parts : positionals);
  if (asked.has('archives')) await measureArchives({ megabytes: times(500), rounds: times(3) });
  if (asked.has('transport')) await withDatabase((_db, url) => measureTransport(url));
  if (asked.has('tools')) {
    await withDatabase(async (db, url) => {
      const client = new Client({ connectionString: url });
      await client.connect();
      await generate(client, scale);
      await client.end();
      await measureTools(db, scale);
    });
  }
}

/** Measures on a migrated database in a new, real Postgres. */
async function withDatabase(measure: (db: Database, url: string) => Promise<void>): Promise<void> {
  const postgres = await startPostgres({ shared_buffers: '2GB', max_wal_size: '8GB' });
  const log = createLog('error', systemClock);
  try {
    const db = await openDatabase({ url: postgres.url, fetch, log });
    try {
      await migrate(db, 'drizzle');
      await measure(db, postgres.url);
    } finally {
      await db.close();
    }
  } finally {
    await postgres.stop();
  }
}

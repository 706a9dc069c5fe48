import { runMcp } from '../lib/mcp/command.ts';
import { systemClock } from '../lib/platform/clock.ts';
import type { McpConfig } from '../lib/platform/config/mcp.ts';
import type { Database } from '../lib/platform/database/database.ts';
import { openDatabase } from '../lib/platform/database/open.ts';
import type { Log } from '../lib/platform/log.ts';
import { runCommand } from './command.ts';
import { urlOfRunningServer } from './database.ts';
import { loadEnvironment } from './environment.ts';

await runCommand(() =>
  runMcp({
    args: process.argv.slice(2),
    environment: loadEnvironment(),
    stdin: process.stdin,
    stdout: process.stdout,
    clock: systemClock,
    stopping: listenForEnd(),
    openDatabase: openMcpDatabase,
  }),
);

/**
 * DATABASE_URL, else the embedded database of a running server, unless BACKEND_URL is set; null when the
 * service API is to serve.
 */
async function openMcpDatabase(config: McpConfig, log: Log): Promise<Database | null> {
  const url = config.DATABASE_URL ?? (config.BACKEND_URL ? null : await urlOfRunningServer(config));
  return url === null ? null : openDatabase({ url, fetch, log, maxConnections: 4 });
}

/** Aborts at the first SIGINT, SIGTERM or SIGHUP; a closed terminal counts. */
function listenForEnd(): AbortSignal {
  const ending = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => ending.abort());
  }
  return ending.signal;
}

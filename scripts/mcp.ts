import { systemClock } from '../lib/clock.ts';
import { openDatabase } from '../lib/database/open.ts';
import { runMcp } from '../lib/mcp/command.ts';
import { runCommand } from './command.ts';
import { urlOfRunningServer } from './database.ts';
import { loadEnvironment } from './environment.ts';
import { findServer } from './running-server.ts';

await runCommand(() =>
  runMcp({
    args: process.argv.slice(2),
    installation: {
      readEnvironment: loadEnvironment,
      findDatabase: urlOfRunningServer,
      findServer: ({ DATA_DIR }) => findServer(DATA_DIR),
      openDatabase: (url, log) => openDatabase({ url, fetch, log, maxConnections: 4 }),
    },
    stdin: process.stdin,
    stdout: process.stdout,
    clock: systemClock,
    stopping: listenForEnd(),
  }),
);

/** Aborts at the first SIGINT, SIGTERM or SIGHUP (closed terminal). */
function listenForEnd(): AbortSignal {
  const ending = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => ending.abort());
  }
  return ending.signal;
}

import { systemClock } from '../lib/platform/clock.ts';
import type { DatabaseConfig } from '../lib/platform/config.ts';
import type { Database } from '../lib/platform/database/database.ts';
import { openDatabase } from '../lib/platform/database/open.ts';
import { AppError } from '../lib/platform/errors.ts';
import type { Log } from '../lib/platform/log.ts';
import { RunStopped } from '../lib/worker/stop.ts';
import { runWorker } from '../lib/worker/worker.ts';
import { runCommand } from './command.ts';
import { urlOfRunningServer } from './database.ts';
import { loadEnvironment } from './environment.ts';

/** npm passes a Ctrl-C on that the terminal sent us already; a person's second one comes later. */
const SAME_INTERRUPT_MS = 500;

await runCommand(async () => {
  ignoreClosedPipes();
  return runWorker({
    args: process.argv.slice(2),
    environment: loadEnvironment(),
    folder: process.cwd(),
    clock: systemClock,
    io: {
      stdout: process.stdout,
      stderr: process.stderr,
      isTerminal: process.stderr.isTTY ?? false,
    },
    signal: listenForInterrupt(),
    openDatabase: openWorkerDatabase,
  });
});

async function openWorkerDatabase(config: DatabaseConfig, log: Log): Promise<Database> {
  const url = config.DATABASE_URL ?? (await urlOfRunningServer(config));
  if (url !== null) return openDatabase({ url, fetch, log, maxConnections: 2 });
  throw new AppError(
    'SERVICE_UNAVAILABLE',
    'there is no database: start the server with `npm start`, or set DATABASE_URL',
  );
}

/** The first SIGINT or SIGTERM lets the run close itself; a second one ends the process at once. */
function listenForInterrupt(): AbortSignal {
  const interrupt = new AbortController();
  let firstAt = 0;
  const stop = (signal: NodeJS.Signals) => {
    if (!interrupt.signal.aborted) {
      firstAt = systemClock.now();
      interrupt.abort(new RunStopped(`interrupted by ${signal}`));
    } else if (systemClock.now() - firstAt > SAME_INTERRUPT_MS) process.exit(1);
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  return interrupt.signal;
}

/** A reader that went away, such as `head`, must not end a run half-way. */
function ignoreClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }
}

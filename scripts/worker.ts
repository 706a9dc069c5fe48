import { setFlagsFromString } from 'node:v8';
import { systemClock } from '../lib/clock.ts';
import type { DatabaseConfig } from '../lib/config/database.ts';
import type { Environment } from '../lib/config/read.ts';
import type { Database } from '../lib/database/database.ts';
import { openDatabase } from '../lib/database/open.ts';
import { AppError } from '../lib/errors.ts';
import type { Log } from '../lib/log/log.ts';
import { ignoreClosedOutput } from '../lib/processes/closed-output.ts';
import { hasNpmEnded } from '../lib/processes/end-with-npm.ts';
import { exitNow, exitSoon } from '../lib/processes/exit-now.ts';
import { createKeychain } from '../lib/worker/base/keychain.ts';
import { listenForInterrupt } from '../lib/worker/interrupt.ts';
import { runWorker } from '../lib/worker/worker.ts';
import { runCommand } from './command.ts';
import { urlOfEarlierServer, urlOfRunningServer } from './database.ts';
import { loadEnvironment } from './environment.ts';

// A run starts thousands of git processes, and V8 puts off collecting their garbage while memory is free: without this
// it uses 290 MiB after 200 repositories instead of 130.
if (process.argv[2] === 'run') setFlagsFromString('--optimize-for-size');

await runCommand(async () => {
  ignoreClosedOutput();
  const environment = loadEnvironment();
  shareWithAwsSdk(environment);
  return runWorker({
    args: process.argv.slice(2),
    environment,
    folder: process.cwd(),
    clock: systemClock,
    io: {
      stdout: process.stdout,
      stderr: process.stderr,
      // Opened only when it is needed, so that the next command of a script can still read stdin.
      get stdin() {
        return process.stdin;
      },
      isTerminal: process.stderr.isTTY ?? false,
    },
    desktop: {
      async open(address) {
        const { default: open } = await import('open');
        await open(address);
      },
      async copy(text) {
        const { default: clipboard } = await import('clipboardy');
        await clipboard.write(text);
      },
    },
    keychain: createKeychain(environment, systemClock),
    fetch,
    signal: listenForInterrupt({
      ...{ signals: process, clock: systemClock, exit: exitNow, hasNpmEnded },
    }),
    openDatabase: openWorkerDatabase,
  });
});
exitSoon();

async function openWorkerDatabase(
  config: DatabaseConfig,
  log: Log,
  mayBeAway: boolean,
): Promise<Database> {
  const url =
    config.DATABASE_URL ??
    (await urlOfRunningServer(config)) ??
    (mayBeAway ? await urlOfEarlierServer(config) : null);
  if (url !== null) return openDatabase({ url, fetch, log, maxConnections: 2 });
  throw new AppError(
    'SERVICE_UNAVAILABLE',
    'there is no database: start the server with `npm start`, or set DATABASE_URL',
  );
}

/** The AWS SDK finds credentials in the process environment only, not in `.env`. */
function shareWithAwsSdk(environment: Environment): void {
  for (const [name, value] of Object.entries(environment)) {
    if (name.startsWith('AWS_') && value) process.env[name] ||= value;
  }
}

import type { z } from 'zod';
import type { Clock } from '../../clock.ts';
import { type DatabaseConfig, databaseVariables } from '../../config/database.ts';
import { logVariables } from '../../config/log.ts';
import type { Environment } from '../../config/read.ts';
import { configuredSecrets } from '../../config/secrets.ts';
import type { Database } from '../../database/database.ts';
import { createLog, type Log } from '../../log/log.ts';
import { createRedactor, type Redactor } from '../../security/redaction/redactor.ts';
import { createDisplay, type Display } from './display.ts';
import type { Keychain } from './keychain.ts';
import type { CommandIo, Desktop } from './person.ts';

/** Variables of every command that uses the database. */
export const contextVariables = { ...databaseVariables.shape, ...logVariables.shape };

export interface WorkerOptions {
  /** The command line, without the program. */
  args: readonly string[];
  environment: Environment;
  /** The base of relative paths on the command line. */
  folder: string;
  clock: Clock;
  /** Results go to `stdout`, progress and notices to `stderr`. */
  io: CommandIo;
  desktop: Desktop;
  keychain: Keychain;
  fetch: typeof fetch;
  /** Aborts with a RunStopped error as the reason. */
  signal: AbortSignal;
  /**
   * Opens the configured database. Throws AppError SERVICE_UNAVAILABLE if there is none. With `mayBeAway`, one that
   * existed before but is not running is accepted.
   */
  openDatabase(config: DatabaseConfig, log: Log, mayBeAway: boolean): Promise<Database>;
}

/** The context of a command that uses the database. */
export interface CommandContext extends WorkerOptions {
  db: Database;
  log: Log;
  redactor: Redactor;
  display: Display;
}

/** Opens the database for a command and closes it afterwards. With `mayBeAway`, the command can do without it. */
export async function withDatabase(
  options: WorkerOptions,
  config: DatabaseConfig & z.output<typeof logVariables>,
  run: (context: CommandContext) => Promise<number>,
  { mayBeAway = false } = {},
): Promise<number> {
  const { environment, clock, io } = options;
  const display = createDisplay(io.stderr, io.isTerminal);
  const redactor = createRedactor(configuredSecrets(environment));
  const log = createLog(config.LOG_LEVEL, clock, display.line, redactor);
  const db = await options.openDatabase(config, log, mayBeAway);
  try {
    return await run({ ...options, db, log, redactor, display });
  } finally {
    display.clear();
    await db.close();
  }
}

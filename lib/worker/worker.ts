import { z } from 'zod';
import type { Clock } from '../platform/clock.ts';
import { archivePath, archiveVariables } from '../platform/config/archives.ts';
import { sweepVariables } from '../platform/config/backups.ts';
import { type DatabaseConfig, databaseVariables } from '../platform/config/database.ts';
import { configFolder, gitHostVariables } from '../platform/config/git-host.ts';
import { logVariables } from '../platform/config/log.ts';
import { type Environment, readConfig } from '../platform/config/read.ts';
import { configuredSecrets } from '../platform/config/secrets.ts';
import type { Database } from '../platform/database/database.ts';
import { AppError } from '../platform/errors.ts';
import { createLog, type Log } from '../platform/log.ts';
import { createRedactor } from '../platform/redaction.ts';
import { parseCommand } from './arguments.ts';
import { readTarget } from './destination/target.ts';
import { createDisplay, type Display, type OutputStream } from './display.ts';
import { checkGit } from './git-version.ts';
import type { Keychain } from './logins/keychain.ts';
import { openLoginStore } from './logins/login-store.ts';
import type { CommandIo, Desktop } from './logins/person.ts';
import { openLoginSession } from './logins/session.ts';
import { performRun, type RunDeps } from './run.ts';
import type { RunCommand } from './run-arguments.ts';
import type { Source } from './source.ts';
import { RunStopped } from './stop.ts';
import { describeReport } from './summary.ts';

const runVariables = z.object({
  ...databaseVariables.shape,
  ...logVariables.shape,
  ...archiveVariables.shape,
  ...gitHostVariables.shape,
  STALE_RUN_AFTER_MINUTES: sweepVariables.shape.STALE_RUN_AFTER_MINUTES,
});

export interface WorkerOptions {
  /** The command line, without the program. */
  args: readonly string[];
  environment: Environment;
  /** What relative paths of the command line are relative to. */
  folder: string;
  clock: Clock;
  /** `stdout` gets results, `stderr` progress and notices (decisions 7). */
  io: CommandIo;
  desktop: Desktop;
  keychain: Keychain;
  fetch: typeof fetch;
  /** Aborts with a RunStopped that says why. */
  signal: AbortSignal;
  /** Opens the database of the configuration. Throws AppError SERVICE_UNAVAILABLE when there is none. */
  openDatabase(config: DatabaseConfig, log: Log): Promise<Database>;
}

/**
 * Runs one command of the worker and returns its exit code: 0 done, also when another run is active; 1
 * failed, also when a repository did; 4 when one has to log in. Throws AppError or ConfigError for what
 * a person can mend: wrong usage, a bad variable, no database.
 */
export async function runWorker(options: WorkerOptions): Promise<number> {
  const { args, folder, environment, io } = options;
  const command = parseCommand(args, folder);
  if (command.name === 'help') {
    io.stdout.write(`${command.text}\n`);
    return 0;
  }
  try {
    if (command.name === 'run') return await runBackups(options, command);
    if (command.name === 'embed') {
      const { runEmbedCommand } = await import('./embed-session.ts');
      return await runEmbedCommand(options, command);
    }
    // Loaded only where it is used: a run needs neither prompts nor pages.
    const { runLoginCommand } = await import('./logins/commands.ts');
    const config = readConfig(gitHostVariables, environment);
    return await runLoginCommand(openLoginSession({ ...options, config }), command);
  } catch (error) {
    if (!(error instanceof RunStopped)) throw error;
    io.stderr.write(`${error.message}\n`);
    return 1;
  }
}

async function runBackups(options: WorkerOptions, command: RunCommand): Promise<number> {
  const { environment, clock, io, signal } = options;
  const config = readConfig(runVariables, environment);
  const display = createDisplay(io.stderr, io.isTerminal);
  const log = createLog(
    config.LOG_LEVEL,
    clock,
    display.line,
    createRedactor(configuredSecrets(environment)),
  );
  const target = readTarget(config.BACKUP_REPO_PATH, options.folder);
  await checkGit(environment, signal);
  const db = await options.openDatabase(config, log);
  try {
    const archiveFolder = archivePath(config);
    const staleAfterMs = config.STALE_RUN_AFTER_MINUTES * 60_000;
    const folder = configFolder(config, environment);
    const store = openLoginStore({ folder, keychain: options.keychain, notify: display.line });
    const gitHost = { config, store, fetch: options.fetch };
    const deps = {
      ...{ db, clock, log, display, environment, archiveFolder, staleAfterMs, signal },
      ...{ gitHost, target },
    };
    if (command.everyMs === null) return await runOnce(deps, command.sources, io.stdout);
    return await runRepeatedly(deps, command.sources, io.stdout, command.everyMs);
  } finally {
    display.clear();
    await db.close();
  }
}

async function runOnce(
  deps: RunDeps,
  sources: readonly Source[] | null,
  stdout: OutputStream,
): Promise<number> {
  deps.signal.throwIfAborted();
  const report = await performRun(deps, sources);
  deps.display.clear();
  stdout.write(`${describeReport(report)}\n`);
  return report.status === 'refused' ? 0 : report.exitCode;
}

/** Until the signal aborts. Between runs that is the ordinary end; within one it fails the run. */
async function runRepeatedly(
  deps: RunDeps,
  sources: readonly Source[] | null,
  stdout: OutputStream,
  everyMs: number,
): Promise<number> {
  const { clock, display, signal } = deps;
  for (;;) {
    const next = clock.now() + everyMs;
    const code = await attempt(() => runOnce(deps, sources, stdout), display);
    if (signal.aborted) return code;
    try {
      await clock.sleep(Math.max(0, next - clock.now()), signal);
    } catch (error) {
      if (signal.aborted) return 0;
      throw error;
    }
  }
}

/** A database that is away now may be back at the next run. */
async function attempt(run: () => Promise<number>, display: Display): Promise<number> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'SERVICE_UNAVAILABLE')) throw error;
    display.line(`no run: ${error.message}`);
    return 1;
  }
}

import { resolve } from 'node:path';
import * as z from 'zod';
import { archivePath, archiveVariables } from '../config/archives.ts';
import { databaseVariables } from '../config/database.ts';
import { gitHostVariables } from '../config/git-host.ts';
import { readConfig } from '../config/read.ts';
import { orHangs } from './base/answering-folder.ts';
import type { WorkerOptions } from './base/command-context.ts';
import { RunStopped } from './base/stop.ts';
import { parseWorkerCommand, type WorkerCommand } from './command-line.ts';

const folderVariables = z.object({
  ...archiveVariables.shape,
  DATA_DIR: databaseVariables.shape.DATA_DIR,
});

/**
 * Runs one command of the worker and returns its exit code: 0 done; 1 failed, also if a repository did; 4 if the
 * user must log in; 75 if another run is active. Throws AppError or ConfigError for problems that the
 * user can fix: wrong usage, an invalid variable, no database.
 */
export async function runWorker(options: WorkerOptions): Promise<number> {
  const { args, folder, io } = options;
  const command = parseWorkerCommand(args, folder);
  try {
    if (command.name === 'help') return await perform(options, command);
    // A run records that it could not begin.
    const folders = () => foldersOf(options, command);
    return await orHangs(
      { ...options, folders, asksFirst: command.name !== 'run' },
      async (signal) => perform(await trustAuthorities({ ...options, signal }), command),
    );
  } catch (error) {
    const stopped = stopOf(error, options.signal);
    if (stopped === null) throw error;
    io.stderr.write(`${stopped.message}\n`);
    return stopped.exitCode;
  }
}

/** What stopped the command, also if a wait or a child process was aborted by it; null for any other error. */
function stopOf(error: unknown, { aborted, reason }: AbortSignal): RunStopped | null {
  const { name, cause, isCanceled } = Object(error) as Record<string, unknown>;
  const wasAborted = name === 'AbortError' || isCanceled === true;
  return (
    [error, ...(wasAborted ? [cause, ...(aborted ? [reason] : [])] : [])].find(
      (it) => it instanceof RunStopped,
    ) ?? null
  );
}

/** The folders that a command may read and write. Stores fail by themselves. */
function foldersOf({ environment }: WorkerOptions, command: WorkerCommand): string[] {
  const config = readConfig(folderVariables, environment);
  const data = resolve(config.DATA_DIR);
  switch (command.name) {
    case 'restore':
      return [command.store === null ? archivePath(config) : data, command.target];
    case 'run':
    case 'versions':
    case 'drill':
    case 'forget':
    case 'sources-remove':
    case 'store-check':
    case 'store-migrate':
      return [archivePath(config), data];
    default:
      return [data];
  }
}

/** git is given the authorities that the rest of the process trusts. */
async function trustAuthorities(options: WorkerOptions): Promise<WorkerOptions> {
  const { environment, signal, io } = options;
  if (!environment.NODE_EXTRA_CA_CERTS) return options;
  const { trustInGit } = await import('../git/git-authorities.ts');
  const { DATA_DIR } = readConfig(databaseVariables, environment);
  const onRemark = (text: string) => void io.stderr.write(`${text}\n`);
  const trusting = await trustInGit({ environment, folder: DATA_DIR, signal, onRemark });
  return { ...options, environment: trusting };
}

/** Performs a command, and loads only the modules that it needs. */
async function perform(options: WorkerOptions, command: WorkerCommand): Promise<number> {
  switch (command.name) {
    case 'help':
      options.io.stdout.write(`${command.text}\n`);
      return 0;
    case 'run':
      return (await import('./run-backups.ts')).runBackups(options, command);
    case 'embed':
      return (await import('./embed.ts')).runEmbed(options, command);
    case 'versions':
      return (await import('./restore/run-restore.ts')).runVersions(options, command);
    case 'restore':
      return (await import('./restore/run-restore.ts')).runRestore(options, command);
    case 'list-store':
      return (await import('./restore/list-store.ts')).runListStore(options, command);
    case 'store-check':
      return (await import('./offsite/commands/check-store.ts')).checkStores(options, command);
    case 'store-copy':
      return (await import('./offsite/commands/copy-store.ts')).copyStore(options, command);
    case 'store-prune':
      return (await import('./offsite/commands/prune-store.ts')).pruneStores(options, command);
    case 'store-migrate':
      return (await import('./offsite/commands/migrate-store.ts')).migrateStore(options, command);
    case 'store-identity':
      return (await import('./offsite/commands/make-identity.ts')).makeIdentity(options, command);
    case 'drill':
      return (await import('./drills/run-drill.ts')).runDrill(options, command);
    case 'anomalies':
    case 'anomalies-confirm':
      return (await import('./review/run-anomalies.ts')).runAnomalies(options, command);
    case 'forget':
      return (await import('./review/run-forget.ts')).runForget(options, command);
    case 'sources-list':
    case 'sources-add':
    case 'sources-remove':
    case 'sources-pause':
    case 'sources-resume':
      return (await import('./sources/run-sources.ts')).runSources(options, command);
    default: {
      const { runLoginCommand } = await import('./logins/commands.ts');
      const { openLoginSession } = await import('./logins/session.ts');
      const config = readConfig(gitHostVariables, options.environment);
      return runLoginCommand(openLoginSession({ ...options, config }), command);
    }
  }
}

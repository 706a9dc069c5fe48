import { join } from 'node:path';
import * as z from 'zod';
import { archivePath, archiveVariables } from '../../config/archives.ts';
import { databaseVariables } from '../../config/database.ts';
import { readConfig } from '../../config/read.ts';
import { AppError } from '../../errors.ts';
import { checkGit } from '../../git/git-version.ts';
import { listArchives, listRepositories, listVersions } from '../../restore/list-archives.ts';
import { type RestoreRequest, restoreVersion } from '../../restore/restore.ts';
import { formatBytes } from '../../text/units.ts';
import type { WorkerOptions } from '../command-context.ts';
import { createDisplay } from '../display.ts';
import type { RestoreCommand, VersionsCommand } from './restore-commands.ts';
import { describeRestored, formatTable } from './restore-text.ts';

/** Neither needs the database, nor any other variable. */
const restoreVariables = z.object({
  ...archiveVariables.shape,
  DATA_DIR: databaseVariables.shape.DATA_DIR,
});

/** Prints the archives, or the versions of one. Throws AppError. */
export async function runVersions(
  { environment, io }: WorkerOptions,
  { repository, isJson }: VersionsCommand,
): Promise<number> {
  const root = archivePath(readConfig(restoreVariables, environment));
  const print = (value: unknown, text: () => string) =>
    io.stdout.write(isJson ? `${JSON.stringify(value, null, 2)}\n` : text());
  if (repository === null) {
    const archives = await listArchives(root);
    print(archives, () =>
      archives.length === 0
        ? `There is no archive in ${root}.\n`
        : formatTable([
            ['Repository', 'Versions', 'Newest', 'Size'],
            ...archives.map((one) => [
              one.repository,
              one.format === 'bundle' ? `${one.versions}` : one.format,
              one.newest,
              formatBytes(one.size_bytes),
            ]),
          ]),
    );
    return 0;
  }
  const { archive, versions } = await listVersions(root, repository);
  print({ repository, archive, versions }, () =>
    formatTable([
      ['Version', 'Time', 'Refs', 'Needs', 'Size', 'Warning'],
      ...versions.map((one) => [
        `${one.version ?? '-'}`,
        one.at,
        `${one.ref_count ?? '-'}`,
        one.files.length === 1 ? '1 file' : `${one.files.length} files`,
        formatBytes(one.size_bytes),
        one.warning ?? '',
      ]),
    ]),
  );
  return 0;
}

/** Restores one repository, or all of them, and returns the exit code. Throws AppError if a single one fails. */
export async function runRestore(options: WorkerOptions, command: RestoreCommand): Promise<number> {
  const { environment, clock, signal, io } = options;
  const { repository, choice, ref, isBare, target } = command;
  const root = archivePath(readConfig(restoreVariables, environment));
  await checkGit(environment, signal);
  const display = createDisplay(io.stderr, io.isTerminal);

  const restore = async (name: string, to: string) => {
    const request: RestoreRequest = { root, repository: name, choice, ref, isBare, target: to };
    const onFile = (done: number, total: number) =>
      display.progress(done, total, `${name}: unpacking`);
    try {
      const restored = await restoreVersion(request, { environment, clock, signal, onFile });
      display.clear();
      io.stdout.write(describeRestored(restored, to));
    } finally {
      display.clear();
    }
  };

  if (repository !== null) {
    await restore(repository, target);
    return 0;
  }
  const failed: string[] = [];
  const names = await listRepositories(root);
  for (const name of names) {
    try {
      await restore(name, join(target, name));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      const { cause, message } = error;
      const reason = cause instanceof Error ? `${message}: ${cause.message}` : message;
      failed.push(name);
      display.line(`${name} was not restored: ${reason}`);
    }
  }
  const count = `${names.length - failed.length} of ${names.length} repositories`;
  io.stdout.write(`Restored ${count} to ${target}\n`);
  if (failed.length > 0) io.stdout.write(`Not restored: ${failed.join(', ')}\n`);
  return failed.length > 0 || names.length === 0 ? 1 : 0;
}

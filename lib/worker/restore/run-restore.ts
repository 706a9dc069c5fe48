import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { joinNames, orSayWhyNone } from '../../archives/base/archive-fault.ts';
import { parseSetAside } from '../../archives/base/archive-name.ts';
import { archivePath, archiveVariables } from '../../config/archives.ts';
import { databaseVariables } from '../../config/database.ts';
import { ConfigError, readConfig } from '../../config/read.ts';
import type { Database } from '../../database/database.ts';
import { describeLacks, findLacks } from '../../durable-files.ts';
import { AppError, messageWithCause } from '../../errors.ts';
import { isSystemError, nullIfMissing } from '../../files.ts';
import { checkGit } from '../../git/git-version.ts';
import { countRecordedArchives, findEmptyAt } from '../../records/recorded-archive.ts';
import { listKept } from '../../records/repositories/forgotten.ts';
import {
  describeUnnamed,
  type ListedVersion,
  listArchives,
  listRestorableVersions,
  type NamedArchive,
} from '../../restore/list-archives.ts';
import { WorkTreeTooLarge } from '../../restore/measure-work-tree.ts';
import { isFree } from '../../restore/target.ts';
import { StoreFault } from '../../stores/base/object-store.ts';
import { cleanName, cleanText } from '../../text/clean-text.ts';
import { formatMinute } from '../../text/format-minute.ts';
import { removeDeceptiveCharacters } from '../../text/hidden-text.ts';
import { shellQuote } from '../../text/shell-quote.ts';
import { counted, formatBytes } from '../../text/units.ts';
import { contextVariables, type WorkerOptions, withDatabase } from '../base/command-context.ts';
import { createDisplay, type Display } from '../base/display.ts';
import { type ArchiveSource, openArchiveFolder } from './archive-source.ts';
import type { RestoreCommand, VersionsCommand } from './restore-commands.ts';
import { restoreOne } from './restore-one.ts';
import { formatTable } from './restore-text.ts';

/** After this many failures of a store, the remaining repositories are skipped. */
const MAX_STORE_FAILURES = 3;

const SET_ASIDE =
  'Archives named @damaged were set aside for new ones. Use that name to list and restore their intact versions.\n';

/** These commands need no database and no other variables. */
const restoreVariables = z.object({
  ...archiveVariables.shape,
  DATA_DIR: databaseVariables.shape.DATA_DIR,
});

/** Prints the archives, or the versions of one. Throws AppError. */
export async function runVersions(
  options: WorkerOptions,
  { repository, isJson }: VersionsCommand,
): Promise<number> {
  const { io } = options;
  const root = rootOf(options);
  const print = (value: unknown, text: () => string) =>
    io.stdout.write(isJson ? `${JSON.stringify(value, null, 2)}\n` : text());
  if (repository === null) {
    const archives = await listArchives(root);
    const missing = archives.length === 0 ? await describeMissing(options, root) : null;
    if (missing !== null) throw new AppError('SERVICE_UNAVAILABLE', missing);
    print(archives, () =>
      archives.length === 0
        ? `There is no archive in ${root}.\n`
        : formatTable([
            ['Repository', 'Versions', 'Newest', 'Size', 'Source'],
            ...archives.map((one) => [
              nameArchive(one),
              one.format === 'bundle' ? `${one.versions}` : one.format,
              one.newest,
              formatBytes(one.size_bytes),
              one.source ?? '-',
            ]),
          ]) +
          (archives.some((one) => one.is_set_aside) ? SET_ASIDE : '') +
          archives
            .filter(isUnnamed)
            .map((one) => `${describeUnnamed(one)}\n`)
            .join('') +
          archives
            .filter(({ fault }) => fault !== null)
            .map((one) => `${cleanName(nameArchive(one))}: ${cleanText(one.fault ?? '')}\n`)
            .join(''),
    );
    return archives.some((one) => one.fault !== null && !one.is_set_aside) ? 1 : 0;
  }
  const { versions, set_aside, ...found } = await orExplainNone(options, root, repository, () =>
    listRestorableVersions(root, repository),
  );
  print({ repository, ...found, versions, set_aside }, () => {
    const table = formatTable([
      ['Version', 'Time', 'Refs', 'Needs', 'Size', 'Warning'],
      ...versions.map((one) => [
        `${one.version ?? '-'}`,
        one.at,
        `${one.ref_count ?? '-'}`,
        counted(one.files.length, 'file'),
        formatBytes(one.size_bytes),
        describeWarning(one),
      ]),
    ]);
    const earlier = set_aside.map((name) => `Set aside: ${cleanName(name)}\n`).join('');
    const source = found.source === null ? '' : `Source: ${found.source}\n`;
    return `${table}${source}${earlier}${earlier === '' ? '' : SET_ASIDE}`;
  });
  const isSetAside = parseSetAside(repository) !== null;
  return versions.some(({ fault }) => fault !== null) && !isSetAside ? 1 : 0;
}

/** An archive whose note was lost is restored as a whole. */
function describeWarning({ version, fault, warning }: ListedVersion): string {
  if (fault === null) return warning ?? '';
  return version === null ? fault : `cannot be restored: ${fault}`;
}

/** How an archive is named in the list. */
function nameArchive(one: NamedArchive): string {
  if (!isUnnamed(one)) return one.repository ?? '';
  return `${one.repository ?? (joinNames(one.candidates) || '?')} (${one.archive})`;
}

/** Whether it cannot be restored by the name of its repository. */
function isUnnamed({ repository, is_misnamed }: NamedArchive): boolean {
  return repository === null || is_misnamed;
}

/** Restores one repository, or all of them, and returns the exit code. Throws AppError if a single one fails. */
export async function runRestore(options: WorkerOptions, command: RestoreCommand): Promise<number> {
  const { environment, signal, io } = options;
  await checkGit(environment, signal);
  const display = createDisplay(io.stderr, io.isTerminal);
  const source = await openSource(options, command, display);
  try {
    await noteLacks(command.target, display);
    const { repository, push } = command;
    if (repository === null) return await restoreAll(options, command, source, display);
    if (push !== null) {
      const { restoreAndPush } = await import('./restore-and-push.ts');
      return await restoreAndPush(options, { ...command, repository, push }, source, display);
    }
    const root = command.store === null ? rootOf(options) : null;
    const restored = await orExplainNone(options, root, repository, () =>
      restoreOne(options, { ...command, repository }, source, display),
    );
    return restored.unwritten === null ? 0 : 1;
  } finally {
    await source.close();
  }
}

/** The archive folder. */
function rootOf({ environment }: WorkerOptions): string {
  return archivePath(readConfig(restoreVariables, environment));
}

/**
 * Reads an archive. If there is none, the error says why, as far as that is known: the repository was empty when it was
 * last read, or its archive was recorded and is gone. Only the database knows that, and these commands do without it: if
 * it is away, the archive is merely missing. `root`: the archive folder, null for a store.
 */
function orExplainNone<Answer>(
  options: WorkerOptions,
  root: string | null,
  repository: string,
  read: () => Promise<Answer>,
): Promise<Answer> {
  return orSayWhyNone(read, () =>
    askDatabase(options, async (db) => {
      const at = await findEmptyAt(db, repository);
      if (at !== null) {
        return `its source was empty when it was last read, at ${formatMinute(at)}, so there is nothing to restore`;
      }
      const [kept] = root === null ? [] : await listKept(db, [repository]);
      if (root === null || kept === undefined || kept.archiveKey === null) return null;
      // What is there under its name is another repository's.
      if ((await nullIfMissing(stat(join(root, kept.archiveKey)))) !== null) return null;
      const gone = `${kept.archiveKey} was recorded there, and is gone: is the disk of ${root} mounted, and BACKUP_ARCHIVE_PATH right?`;
      const [store] = kept.copies;
      if (store === undefined) return gone;
      const from = `npm run worker -- restore ${shellQuote(cleanName(repository))} --from ${shellQuote(store)} --to FOLDER`;
      return `${gone} A copy is in ${joinNames(kept.copies)}: ${from}`;
    }),
  );
}

/**
 * Says that an archive folder without archives should have some, because they are recorded: its disk is probably not
 * mounted. Null if none is recorded, as far as is known.
 */
async function describeMissing(options: WorkerOptions, root: string): Promise<string | null> {
  const recorded = await askDatabase(options, countRecordedArchives);
  if (recorded === null || recorded === 0) return null;
  const all = recorded === 1 ? 'the archive that is' : `the ${recorded} archives that are`;
  return `the archive folder ${root} has none of ${all} recorded: is its disk mounted, BACKUP_ARCHIVE_PATH right, and this the machine that makes the backups? From a store: npm run worker -- restore --all --from STORE --to FOLDER`;
}

/** Null if the database cannot be reached. */
async function askDatabase<Answer>(
  options: WorkerOptions,
  ask: (db: Database) => Promise<Answer>,
): Promise<Answer | null> {
  let answer: Answer | null = null;
  try {
    const config = readConfig(z.object(contextVariables), options.environment);
    await withDatabase(options, config, async ({ db }) => {
      answer = await ask(db);
      return 0;
    });
  } catch (error) {
    if (!(error instanceof AppError || error instanceof ConfigError)) throw error;
  }
  return answer;
}

/** Says what the file system of the target cannot do. */
async function noteLacks(target: string, display: Display): Promise<void> {
  try {
    const lacks = await findLacks(await findFolder(target));
    // Restoring needs no links.
    const text = describeLacks(
      'the target',
      lacks.filter((one) => one !== 'links'),
    );
    if (text !== null) display.line(text);
  } catch (error) {
    // Restoring fails with the same error, and says what cannot be written.
    if (!isSystemError(error)) throw error;
  }
}

/** The folder itself, or the nearest one above it that exists. */
async function findFolder(path: string): Promise<string> {
  const above = dirname(path);
  const isThere = above === path || (await nullIfMissing(stat(path)))?.isDirectory() === true;
  return isThere ? path : findFolder(above);
}

async function openSource(
  options: WorkerOptions,
  { store }: RestoreCommand,
  display: Display,
): Promise<ArchiveSource> {
  if (store === null) {
    return openArchiveFolder(rootOf(options));
  }
  const { openStoreSource } = await import('./store-source.ts');
  return openStoreSource(options, store, display);
}

/** Whether a file system takes a name for `.git`: some ignore case, invisible characters, or final dots and spaces. */
function isGitFolder(name: string): boolean {
  return /^(?:\.git|git~1)[. ]*$/i.test(name.replace(/\p{Cf}/gu, ''));
}

async function restoreAll(
  options: WorkerOptions,
  command: RestoreCommand,
  source: ArchiveSource,
  display: Display,
): Promise<number> {
  const { target } = command;
  const failed: string[] = [];
  const partly: string[] = [];
  let there = 0;
  let away = 0;
  const { repositories, faults } = await source.list();
  if (repositories.length + faults.length === 0) {
    const root = command.store === null ? rootOf(options) : null;
    const where = root ?? command.store?.address.text;
    const missing = root === null ? null : await describeMissing(options, root);
    const nothing = `there is no archive in ${where}: is it the right one, and its disk mounted?`;
    display.line(missing ?? nothing);
  }
  for (const fault of faults) display.line(`not restored: ${fault}`);
  const tooLarge: string[] = [];
  const restore = async (repository: string, isLimited: boolean) => {
    const name = cleanName(repository);
    try {
      // git would take the folder above it for a repository, and run commands from a configuration in the archive.
      if (repository.split('/').some(isGitFolder)) {
        throw new AppError(
          'CONFLICT',
          'git takes a folder of this name for its own: restore this repository alone, with --to',
        );
      }
      const to = join(target, repository);
      // Repositories appear only when complete, so an earlier attempt restored this one.
      if (command.store !== null && !(await isFree(to))) {
        there++;
        return display.line(`${name} is skipped: ${removeDeceptiveCharacters(to)} already exists`);
      }
      if (away >= MAX_STORE_FAILURES)
        throw new AppError('SERVICE_UNAVAILABLE', 'the store is unreachable');
      const one = { ...command, repository, target: to, isLimited };
      const { unwritten } = await restoreOne(options, one, source, display);
      if (unwritten !== null) partly.push(name);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (isLimited && !command.isLimited && error instanceof WorkTreeTooLarge) {
        tooLarge.push(repository);
        return display.line(`${name} is restored last, because its files are so many or large`);
      }
      const isStoreFault = error.cause instanceof StoreFault;
      away = isStoreFault ? away + 1 : away;
      const reason = isStoreFault ? error.message : messageWithCause(error);
      failed.push(name);
      display.line(`${name} was not restored: ${cleanText(reason)}`);
    }
  };
  for (const repository of repositories) await restore(repository, true);
  // Their work may never end, or fill the disk.
  for (const repository of tooLarge) await restore(repository, false);
  const { length: all } = repositories;
  const { stdout } = options.io;
  const restored = all - failed.length - there;
  const others = there > 0 ? `; ${there} already there` : '';
  stdout.write(`Restored ${restored} of ${all} repositories to ${target}${others}\n`);
  if (failed.length > 0) stdout.write(`Not restored: ${failed.join(', ')}\n`);
  if (partly.length > 0) {
    stdout.write(`Restored, but not all files could be checked out: ${partly.join(', ')}\n`);
  }
  if (faults.length > 0) {
    stdout.write(
      command.store === null
        ? 'Some archives were left out, because nothing says whose they are.\n'
        : 'Not all archives of the store could be read.\n',
    );
  }
  const isWhole = failed.length + partly.length + faults.length === 0;
  return isWhole && all > 0 ? 0 : 1;
}

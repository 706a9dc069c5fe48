import { resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { wrongUsage } from '../../command-line.ts';
import type { VersionChoice } from '../../restore/choose-version.ts';

export interface VersionsCommand {
  name: 'versions';
  /** Null for a list of all archives. */
  repository: string | null;
  isJson: boolean;
}

export interface RestoreCommand {
  name: 'restore';
  /** Null for all. */
  repository: string | null;
  choice: VersionChoice;
  ref: string | null;
  isBare: boolean;
  /** An absolute path. */
  target: string;
}

interface RestoreOptions {
  all?: true;
  at?: VersionChoice;
  version?: VersionChoice;
  ref?: string;
  bare?: true;
  to: string;
}

/** Adds the commands that read the archive folder alone, without a database. */
export function addRestoreCommands(
  program: Command,
  folder: string,
  found: (command: VersionsCommand | RestoreCommand) => void,
): void {
  program
    .command('versions')
    .summary('list the versions that can be restored')
    .description(
      'Lists the archives, or the versions of one repository. Reads the archive folder only.',
    )
    .argument('[repository]', 'as owner/name')
    .option('--json', 'print JSON', false)
    .addHelpText('after', '\nExit codes: 0 done; 1 there is no such archive; 2 wrong usage.')
    .action((repository: string | undefined, { json }: { json: boolean }) =>
      found({ name: 'versions', repository: repository ?? null, isJson: json }),
    );
  program
    .command('restore')
    .summary('restore repositories from their archives')
    .description(
      'Restores a version of a repository, by default the newest, and proves that it is complete and unchanged. Reads the archive folder only.',
    )
    .argument('[repository]', 'as owner/name')
    .option('--all', 'restore every repository, each to <folder>/<owner>/<name>')
    .addOption(
      new Option(
        '--at <time>',
        'the newest version of this time or before, in ISO 8601: 2026-01-31 (to its end) or 2026-01-31T08:15; local time without an offset',
      )
        .argParser(parseTime)
        .conflicts('version'),
    )
    .addOption(
      new Option('--version <number>', 'the version of this number; `versions` lists them')
        .argParser(parseVersion)
        .conflicts('all'),
    )
    .addOption(new Option('--ref <ref>', 'only this branch or tag').conflicts('all'))
    .option('--bare', 'without a work tree')
    .requiredOption('--to <folder>', 'where to: a new or empty folder')
    .addHelpText(
      'after',
      `
The folder appears whole or not at all. With --all, a repository that cannot be restored does not stop the others.

Exit codes: 0 restored; 1 not restored, or one of several was not; 2 wrong usage.`,
    )
    .action((repository: string | undefined, options: RestoreOptions) => {
      if ((repository === undefined) !== (options.all === true)) {
        throw wrongUsage('name one repository, or give --all');
      }
      found({
        name: 'restore',
        repository: repository ?? null,
        choice: options.at ?? options.version ?? 'newest',
        ref: options.ref ?? null,
        isBare: options.bare === true,
        target: resolve(folder, options.to),
      });
    });
}

const iso8601 =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})?)?$/i;

function parseTime(text: string): VersionChoice {
  const [, year = '', month = '', day = ''] = iso8601.exec(text) ?? [];
  const date = new Date(Number(year), Number(month) - 1, Number(day));
  // Date would take 31 February for a day in March.
  const isDate = year !== '' && date.getMonth() === Number(month) - 1;
  const isDay = text.length === 10;
  const nextDay = new Date(Number(year), Number(month) - 1, Number(day) + 1);
  const before = isDay ? nextDay.getTime() - 1 : Date.parse(text.replace(' ', 'T'));
  if (isDate && Number.isFinite(before)) return { before };
  throw new InvalidArgumentError('It must be a date or a time in ISO 8601.');
}

function parseVersion(text: string): VersionChoice {
  if (/^[1-9]\d{0,8}$/.test(text)) return { version: Number(text) };
  throw new InvalidArgumentError('It must be the number of a version.');
}

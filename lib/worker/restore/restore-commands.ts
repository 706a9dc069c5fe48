import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { VersionChoice } from '../../archives/chain/choose-version.ts';
import { wrongUsage } from '../../command-line.ts';
import type { StoreAddress } from '../../config/stores/store-address.ts';
import { AddressError } from '../../text/source-address.ts';
import { parseLocation, type Source } from '../base/source.ts';
import { parseStore } from '../offsite/commands/store-commands.ts';

/** A store, and the file of the identities that decrypt it. */
export interface StoreChoice {
  address: StoreAddress;
  /** As given; null for none. */
  identityFile: string | null;
}

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
  /** Whether a work tree of a million files is refused. */
  isLimited: boolean;
  /** An absolute path. */
  target: string;
  /** Null for the archive folder of this machine. */
  store: StoreChoice | null;
  /** Whether to print the progress and the result as lines of JSON. */
  isJson: boolean;
  /** Where to push what was restored; null for nowhere. */
  push: PushChoice | null;
}

/** The repository on a git host to push to. */
export interface PushChoice {
  to: Source;
  /** Existing refs that differ may be replaced without asking. */
  mayOverwrite: boolean;
  /** Whether to delete the restored repository afterwards. */
  isTemporary: boolean;
}

/** Lists the archives of a store, or the versions of one. */
export interface ListStoreCommand {
  name: 'list-store';
  store: StoreChoice;
  /** Null for all. */
  repository: string | null;
}

interface RestoreOptions {
  all?: true;
  at?: VersionChoice;
  version?: VersionChoice;
  ref?: string;
  bare?: true;
  limit: boolean;
  to?: string;
  from?: StoreAddress;
  identity?: string;
  list?: true;
  json?: true;
  push?: string;
  overwrite?: true;
}

/** Adds the commands that read only the archive folder, without a database. */
export function addRestoreCommands(
  program: Command,
  folder: string,
  found: (command: VersionsCommand | RestoreCommand | ListStoreCommand) => void,
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
      'Restores a version of a repository, by default the newest, and proves that it is complete and unchanged. Reads the archive folder only, or a store with --from.',
    )
    .argument('[repository]', 'as owner/name')
    .option('--all', 'restore every repository, each to <folder>/<owner>/<name>')
    .addOption(
      new Option(
        '--at <time>',
        'the newest version made at or before this time, in ISO 8601: 2026-01-31 (to its end) or 2026-01-31T08:15; local time without an offset',
      )
        .argParser(parseTime)
        .conflicts('version'),
    )
    .addOption(
      new Option('--version <number>', 'the version with this number; `versions` lists them')
        .argParser(parseVersion)
        .conflicts('all'),
    )
    .addOption(new Option('--ref <ref>', 'only this branch or tag').conflicts('all'))
    .option('--bare', 'without a work tree')
    .option(
      '--no-limit',
      'also write more than 1000000 files and folders; with --all, such repositories come last',
    )
    .option('--to <folder>', 'the target: a new or empty folder')
    .addOption(
      new Option(
        '--from <store>',
        'restore from a store instead, such as s3://bucket/prefix, file:///mnt/nas or git+https://host/owner/name.git; needs nothing but its credentials',
      ).argParser(parseStore),
    )
    .option(
      '--identity <file>',
      'with --from: the file of the age identity that decrypts the store',
    )
    .addOption(
      new Option(
        '--list',
        'with --from: list the contents of the store, and restore nothing',
      ).conflicts([...['all', 'at', 'version', 'ref', 'bare', 'to', 'push']]),
    )
    .addOption(
      new Option(
        '--push <url>',
        'push the restored branches, tags and notes to this repository on a git host; makes --to optional',
      ).conflicts(['all', 'ref']),
    )
    .addOption(
      new Option('--json', 'print the progress and the result as lines of JSON').conflicts([
        ...['all', 'list'],
      ]),
    )
    .option('--overwrite', 'with --push: replace existing branches and tags that differ')
    .addHelpText(
      'after',
      `
The folder appears complete or not at all. With --all, a repository that cannot be restored does not stop the others.

Exit codes: 0 restored; 1 not restored, or one of several was not; 2 wrong usage.`,
    )
    .action((repository: string | undefined, options: RestoreOptions) => {
      found(describeRestore(repository ?? null, options, folder));
    });
}

function describeRestore(
  repository: string | null,
  options: RestoreOptions,
  folder: string,
): RestoreCommand | ListStoreCommand {
  const { all, from, identity, list, overwrite, push, to } = options;
  if (from === undefined && (identity !== undefined || list)) {
    throw wrongUsage('--identity and --list are for a store: give --from');
  }
  const store = from === undefined ? null : { address: from, identityFile: identity ?? null };
  if (store !== null && list) return { name: 'list-store', store, repository };
  if (push === undefined && overwrite) throw wrongUsage('--overwrite is for --push');
  if (push === undefined && to === undefined) {
    throw wrongUsage("required option '--to <folder>' not specified");
  }
  if ((repository === null) !== (all === true)) {
    throw wrongUsage('name one repository, or give --all');
  }
  const isTemporary = to === undefined;
  return {
    name: 'restore',
    repository,
    choice: options.at ?? options.version ?? 'newest',
    ref: options.ref ?? null,
    isBare: options.bare === true || isTemporary,
    isLimited: options.limit,
    target: to === undefined ? temporaryTarget(repository, push, folder) : resolve(folder, to),
    store,
    isJson: options.json === true,
    push:
      push === undefined
        ? null
        : { to: parsePush(push, folder), mayOverwrite: overwrite === true, isTemporary },
  };
}

/** Depends on the command and its user alone, so that repeating the command resumes it. */
function temporaryTarget(...command: (string | null | undefined)[]): string {
  const parts = [process.getuid?.(), ...command].join('\0');
  const hash = createHash('sha256').update(parts).digest('hex').slice(0, 16);
  return join(tmpdir(), `backup-observatory-push-${hash}`, 'repository.git');
}

function parsePush(text: string, folder: string): Source {
  try {
    return parseLocation(text, folder);
  } catch (error) {
    if (!(error instanceof AddressError)) throw error;
    throw wrongUsage(`the address of --push ${error.message}`);
  }
}

const iso8601 =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})?)?$/i;

function parseTime(text: string): VersionChoice {
  const [, year = '', month = '', day = ''] = iso8601.exec(text) ?? [];
  const date = new Date(Number(year), Number(month) - 1, Number(day));
  // Date would accept 31 February as a day in March.
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

import { Command, InvalidArgumentError, Option } from 'commander';
import { parseCommandLine, wrongUsage } from '../command-line.ts';
import { cleanText } from '../text/clean-text.ts';
import { patternFault } from '../text/name-pattern.ts';
import { canonicalAddress } from '../text/source-address.ts';
import { parseSource, type Source } from './base/source.ts';
import { addDrillCommand, type DrillCommand } from './drills/drill-commands.ts';
import { addLogins, type LoginCommand } from './logins/login-commands.ts';
import { addStoreCommands, type StoreCommand } from './offsite/commands/store-commands.ts';
import {
  addRestoreCommands,
  type ListStoreCommand,
  type RestoreCommand,
  type VersionsCommand,
} from './restore/restore-commands.ts';
import {
  type AnomalyCommand,
  addAnomalyCommands,
  addForgetCommand,
  type ForgetCommand,
} from './review/review-commands.ts';
import { addSourceCommands, type SourceCommand } from './sources/source-commands.ts';

export interface RunCommand {
  name: 'run';
  /** Null: what `worker sources` and BACKUP_SOURCES name, and what a login discovers. */
  sources: Source[] | null;
  /** The ids of the only sources to take; null for all. */
  sourceIds: number[] | null;
  /** Milliseconds from one start to the next; null for one run. */
  everyMs: number | null;
  /** The schedule that says what is backed up; null for none. */
  schedule: number | null;
  /** Back up only what people have asked for. */
  isRequested: boolean;
  /** Patterns of `--only`; null if there are none. */
  only: string[] | null;
  /** Patterns of `--exclude`; null if there are none. */
  exclude: string[] | null;
  /** Go on in an archive folder that has none of the recorded archives. */
  mayStartOver: boolean;
  /** Take part in the run that other workers share, or start one. */
  isShared: boolean;
  /** List what a run would do instead. */
  isDryRun: boolean;
  /** Print JSON for programs. */
  isJson: boolean;
}

export interface EmbedCommand {
  name: 'embed';
  /** Let searches use the generation when it is READY. */
  activate: boolean;
  /** Give up the generation that is being built instead. */
  abandon: boolean;
}

export type WorkerCommand =
  | { name: 'help'; text: string }
  | RunCommand
  | EmbedCommand
  | VersionsCommand
  | RestoreCommand
  | ListStoreCommand
  | StoreCommand
  | AnomalyCommand
  | SourceCommand
  | ForgetCommand
  | DrillCommand
  | LoginCommand;

const MAX_PAUSE_MINUTES = 7 * 24 * 60;

/** Parses the worker's command line; relative paths are relative to `folder`. Throws BAD_REQUEST. */
export function parseWorkerCommand(args: readonly string[], folder: string): WorkerCommand {
  const found: WorkerCommand[] = [];
  const program = new Command('npm run worker --').description('The backup worker.');
  addRun(program, folder, (command) => found.push(command));
  addEmbed(program, (command) => found.push(command));
  addRestoreCommands(program, folder, (command) => found.push(command));
  addStoreCommands(program, (command) => found.push(command));
  addDrillCommand(program, (command) => found.push(command));
  addSourceCommands(program, (command) => found.push(command));
  addAnomalyCommands(program, (command) => found.push(command));
  addForgetCommand(program, (command) => found.push(command));
  addLogins(program, (command) => found.push(command));
  const text = parseCommandLine(program, args);
  const [command] = found;
  if (text !== null) return { name: 'help', text };
  if (command === undefined) throw new Error('a command line without a command was accepted');
  return command;
}

type Found = (command: WorkerCommand) => void;

function addRun(program: Command, folder: string, found: Found): void {
  program
    .command('run')
    .summary('back up repositories')
    .description(
      'Backs up git repositories: one archive each, skipped while none of its refs changed.',
    )
    .option(
      '--source <path|url>',
      `back up this repository instead of all sources: a folder, or an https://, ssh://, file:// or user@host:path address; may be repeated. Credentials come from git's credential helper or the ssh agent, never from the address.`,
      append,
    )
    .addOption(
      new Option('--source-id <id>', 'back up only this source of `sources list`; may be repeated')
        .argParser(appendId)
        .conflicts('source'),
    )
    .option(
      '--only <pattern>',
      'back up only repositories whose name matches, such as team/* or web-?; may be repeated; default: BACKUP_ONLY',
      appendPattern,
    )
    .option(
      '--exclude <pattern>',
      'leave out repositories whose name matches; may be repeated; default: BACKUP_EXCLUDE',
      appendPattern,
    )
    .option('--dry-run', 'list what would be done and why, and change nothing', false)
    .addOption(
      new Option(
        '--join',
        'share one run with workers on other machines: take part in it, or start it. All must see the same archive folder',
      )
        .default(false)
        .conflicts('dryRun'),
    )
    .option(
      '--new-folder',
      'go on although the archive folder has none of the archives that were recorded: they are gone for good, and new ones are made',
      false,
    )
    .option('--json', 'print one JSON object per line: each event, and a summary at the end', false)
    .option('--once', 'one run, then exit (the default)')
    .addOption(
      new Option('--every <minutes>', 'repeat the run at this interval, until Ctrl-C')
        .argParser(parseMinutes)
        .conflicts(['once', 'dryRun']),
    )
    .addOption(
      new Option('--schedule <id>', 'back up what this schedule of the server says')
        .argParser(parseId)
        .conflicts([
          'source',
          'sourceId',
          'only',
          'exclude',
          'every',
          'join',
          'requested',
          'dryRun',
        ]),
    )
    .addOption(
      new Option(
        '--requested',
        'back up only what people have asked for on the page, and nothing if nobody has',
      )
        .default(false)
        .conflicts(['source', 'sourceId', 'only', 'exclude', 'every', 'join', 'dryRun']),
    )
    .addHelpText(
      'after',
      `
Archives go to BACKUP_ARCHIVE_PATH as <owner>__<repo>.bundle; \`git clone\` restores one. A folder is
backed up as local/<folder name>. With BACKUP_REPO_PATH archives are pushed there. Without --source the
worker backs up the sources of \`sources list\` and BACKUP_SOURCES, and the repositories that it discovers with the
source login (see GIT_DISCOVERY). The database is
DATABASE_URL, else that of a running \`npm start\`.

Exit codes: 0 done; 1 failed, or a repository failed; 2 wrong usage; 4 not logged in, or log in again;
75 another run is active.`,
    )
    .action((options: RunOptions) => {
      const {
        source,
        sourceId: sourceIds = null,
        every,
        only = null,
        exclude = null,
        dryRun: isDryRun,
        json: isJson,
        join: isShared,
        newFolder: mayStartOver,
        schedule = null,
        requested: isRequested,
      } = options;
      const sources = source?.map((text) => parseSource(text, folder)) ?? null;
      checkAddresses(sources ?? []);
      const everyMs = every ?? null;
      const how = { isShared, isDryRun, isJson, mayStartOver };
      const what = { sources, sourceIds, everyMs, schedule, isRequested, only, exclude };
      found({ name: 'run', ...what, ...how });
    });
}

interface RunOptions {
  source?: string[];
  sourceId?: number[];
  every?: number;
  only?: string[];
  exclude?: string[];
  dryRun: boolean;
  join: boolean;
  json: boolean;
  newFolder: boolean;
  schedule?: number;
  requested: boolean;
}

function append(text: string, before: string[] | undefined): string[] {
  return [...(before ?? []), text];
}

function appendId(text: string, before: number[] | undefined): number[] {
  const id = /^-?\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (Math.abs(id) < 2 ** 31) return [...(before ?? []), id];
  throw new InvalidArgumentError('It must be the id of a source, as in `sources list`.');
}

function appendPattern(text: string, before: string[] | undefined): string[] {
  const fault = patternFault(text);
  if (fault === null) return append(text, before);
  throw new InvalidArgumentError(`A pattern ${fault}.`);
}

function addEmbed(program: Command, found: Found): void {
  program
    .command('embed')
    .summary('embed records for search')
    .description(
      'Embeds records for search: the generation that is being built, else the active one.',
    )
    .option('--activate', 'let searches use the generation when it is READY')
    .addOption(
      new Option(
        '--abandon',
        'abandon the generation that is being built, for example because its model was removed',
      ).conflicts('activate'),
    )
    .addHelpText(
      'after',
      `
POST /embeddings/switch-model starts a generation. Several workers may embed at once, and each may be stopped at any time. A gateway model uses the key of \`login gateway\`, else GATEWAY_API_KEYS. The
database is DATABASE_URL, else that of a running \`npm start\`.

Exit codes: 0 done, or nothing to do; 1 failed, or all jobs of the generation failed; 2 wrong usage.`,
    )
    .action(({ activate = false, abandon = false }) => found({ name: 'embed', activate, abandon }));
}

function parseMinutes(text: string): number {
  const minutes = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (minutes > 0 && minutes <= MAX_PAUSE_MINUTES) return minutes * 60_000;
  throw new InvalidArgumentError(
    `It must be a number of minutes above 0, at most ${MAX_PAUSE_MINUTES}.`,
  );
}

function parseId(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be the id of a schedule: a whole number.');
}

/** Rejects sources with the same address: they would be the same archive, and one repository in the records. */
function checkAddresses(sources: readonly Source[]): void {
  const addresses = new Map<string, string>();
  for (const { name, location } of sources) {
    const address = canonicalAddress(location);
    const before = addresses.get(address);
    if (before !== undefined) {
      const isCase = before !== location && before.toLowerCase() === location.toLowerCase();
      const why = isCase ? `, as ${before} and ${location}: git hosts ignore letter case` : '';
      throw wrongUsage(cleanText(`the source ${name} is given twice${why}`));
    }
    addresses.set(address, location);
  }
}

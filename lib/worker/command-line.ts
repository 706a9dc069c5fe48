import { Command, InvalidArgumentError, Option } from 'commander';
import { parseCommandLine, wrongUsage } from '../command-line.ts';
import { cleanText } from '../text/clean-text.ts';
import { patternFault } from '../text/name-pattern.ts';
import { canonicalAddress } from './archive/assign-archives.ts';
import type { LoginName } from './logins/login.ts';
import {
  addRestoreCommands,
  type RestoreCommand,
  type VersionsCommand,
} from './restoring/restore-commands.ts';
import { parseSource, type Source } from './source.ts';

export interface RunCommand {
  name: 'run';
  /** Null: those found by discovery. */
  sources: Source[] | null;
  /** Milliseconds from one start to the next; null for one run. */
  everyMs: number | null;
  /** Patterns of `--only`; null if there are none. */
  only: string[] | null;
  /** Patterns of `--exclude`; null if there are none. */
  exclude: string[] | null;
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

/** A command about logins. */
export type LoginCommand =
  | {
      name: 'login github';
      login: Extract<LoginName, `github:${string}`>;
      clientId: string | null;
      importToken: boolean;
      store: StoreChoice;
    }
  | { name: 'login gateway'; paste: boolean; store: StoreChoice }
  | { name: 'app create'; appName: string | null; organization: string | null; force: boolean }
  | { name: 'auth status'; check: boolean; json: boolean }
  | { name: 'auth token gateway' }
  | { name: 'logout'; login: LoginName | 'all' };

/** `file` forces the file; `auto` tries the keychain first. */
export type StoreChoice = 'auto' | 'file';

export type WorkerCommand =
  | { name: 'help'; text: string }
  | RunCommand
  | EmbedCommand
  | VersionsCommand
  | RestoreCommand
  | LoginCommand;

const MAX_PAUSE_MINUTES = 7 * 24 * 60;

/** Parses the worker's command line; relative paths are relative to `folder`. Throws BAD_REQUEST. */
export function parseWorkerCommand(args: readonly string[], folder: string): WorkerCommand {
  const found: WorkerCommand[] = [];
  const program = new Command('npm run worker --').description('The backup worker.');
  addRun(program, folder, (command) => found.push(command));
  addEmbed(program, (command) => found.push(command));
  addRestoreCommands(program, folder, (command) => found.push(command));
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
      `back up this repository instead of those found by discovery: a folder, or an https://, ssh://, file:// or user@host:path address; may be repeated. Credentials come from git's credential helper or the ssh agent, never from the address.`,
      append,
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
    .option('--json', 'print one JSON object a line: each event, and a summary at the end', false)
    .option('--once', 'one run, then exit (the default)')
    .addOption(
      new Option('--every <minutes>', 'repeat the run at this interval, until Ctrl-C')
        .argParser(parseMinutes)
        .conflicts(['once', 'dryRun']),
    )
    .addHelpText(
      'after',
      `
Archives go to BACKUP_ARCHIVE_PATH as <owner>__<repo>.bundle; \`git clone\` restores one. A folder is
backed up as local/<folder name>. With BACKUP_REPO_PATH archives are pushed there. Without --source the
worker backs up the repositories that it discovers with the source login (see GIT_DISCOVERY). The database is
DATABASE_URL, else that of a running \`npm start\`.

Exit codes: 0 done; 1 failed, or a repository failed; 2 wrong usage; 4 not logged in, or log in again;
75 another run is active.`,
    )
    .action((options: RunOptions) => {
      const {
        source,
        every,
        only = null,
        exclude = null,
        dryRun: isDryRun,
        json: isJson,
      } = options;
      const sources = source?.map((text) => parseSource(text, folder)) ?? null;
      checkAddresses(sources ?? []);
      found({ name: 'run', sources, everyMs: every ?? null, only, exclude, isDryRun, isJson });
    });
}

interface RunOptions {
  source?: string[];
  every?: number;
  only?: string[];
  exclude?: string[];
  dryRun: boolean;
  json: boolean;
}

function append(text: string, before: string[] | undefined): string[] {
  return [...(before ?? []), text];
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

function addLogins(program: Command, found: Found): void {
  const profile = (what: string) =>
    new Option('--profile <which>', what).choices(['source', 'destination']).default('source');
  const store = new Option(
    '--store <where>',
    `auto: in the keychain, or in credentials.json if there is no keychain; file: in credentials.json, which scheduled runs can read`,
  )
    .choices(['auto', 'file'])
    .default('auto');

  const login = program
    .command('login')
    .summary('log in to the git host or the model gateway')
    .description('Logs in to the git host or to the model gateway.')
    .addHelpText(
      'after',
      '\nExit codes: 0 logged in; 1 failed; 2 wrong usage, or no client id; 4 denied, or timed out.',
    );
  login
    .command('github')
    .description(
      `Logs in to the git host: shows a URL and a code, valid for 15 minutes, and waits until you have entered the code.`,
    )
    .addOption(
      profile(
        'source: reads the repositories to back up; destination: pushes archives to an https:// BACKUP_REPO_PATH',
      ),
    )
    .addOption(
      new Option(
        '--client-id <id>',
        'the app to log in with; default: GIT_APP_CLIENT_ID, or the app of `app create`',
      ).argParser(matching(/^[\w.-]+$/, 'It must be the client id of an app.')),
    )
    .addOption(
      new Option(
        '--import-token',
        `use the token of gh, the GitHub CLI; without gh, ask for one or read one line from stdin`,
      ).conflicts('clientId'),
    )
    .addOption(store)
    .action((options) => {
      const { profile: which, clientId = null, importToken = false, store: where } = options;
      found({
        name: 'login github',
        login: `github:${which}`,
        clientId,
        importToken,
        store: where,
      } as LoginCommand);
    });
  login
    .command('gateway')
    .description('Logs in to the model gateway: opens a page on which you authorize a key.')
    .option(
      '--paste',
      'for a browser on another machine: paste the address of the final page',
      false,
    )
    .addOption(store)
    .action((options) => found({ name: 'login gateway', ...options }));

  const logout = program
    .command('logout')
    .summary('remove logins from this machine')
    .description(
      "Removes a login from this machine. Its token is not revoked: do that on the service's website.",
    )
    .addHelpText('after', '\nExit codes: 0 removed, or there was none; 1 failed; 2 wrong usage.');
  logout
    .command('github')
    .description('Removes a login to the git host.')
    .addOption(profile('which login'))
    .action((options) =>
      found({ name: 'logout', login: `github:${options.profile}` } as LoginCommand),
    );
  logout
    .command('gateway')
    .description('Removes the login to the model gateway.')
    .action(() => found({ name: 'logout', login: 'gateway:default' }));
  logout
    .command('all')
    .description('Removes every login, and app.json.')
    .action(() => found({ name: 'logout', login: 'all' }));

  const auth = program
    .command('auth')
    .summary('show the logins')
    .description("Shows logins without their secrets, or prints the gateway's key.")
    .addHelpText(
      'after',
      '\nExit codes: 0 done; 1 the logins cannot be read; 2 wrong usage; 4 not logged in.',
    );
  auth
    .command('status')
    .description('Shows the logins.')
    .option(
      '--check',
      `exit with 4 unless there is a login or token for the git host that has not expired, with 1 if it cannot be read`,
      false,
    )
    .option('--json', 'print JSON', false)
    .action((options) => found({ name: 'auth status', ...options }));
  auth
    .command('token')
    .description('Prints a stored secret.')
    .command('gateway')
    .description('Prints the key of the model gateway, and nothing else.')
    .action(() => found({ name: 'auth token gateway' }));

  program
    .command('app')
    .summary('create the app used to log in')
    .description('Creates the app used to log in.')
    .command('create')
    .description(
      `Creates the app on the git host that is used to log in. It may read contents and metadata, nothing else. Opens a local page that takes you to the host with everything filled in, and stores the created app in app.json.`,
    )
    .addOption(
      new Option(
        '--name <name>',
        'its name, unique on the host, at most 34 characters; default: Backup Observatory and a random suffix',
      ).argParser(matching(/^\P{Cc}{1,34}$/u, 'At most 34 characters are allowed.')),
    )
    .addOption(
      new Option('--org <name>', 'the organization that owns it; default: you').argParser(
        matching(/^[a-z\d][a-z\d_-]*$/i, 'It must be the name of an organization.'),
      ),
    )
    .option('--force', 'replace an existing app.json', false)
    .addHelpText(
      'after',
      '\nExit codes: 0 created; 1 failed; 2 wrong usage; 4 not created within 15 minutes.',
    )
    .action(({ name: appName = null, org: organization = null, force }) =>
      found({ name: 'app create', appName, organization, force }),
    );
}

function matching(pattern: RegExp, rule: string): (text: string) => string {
  return (text) => {
    if (pattern.test(text)) return text;
    throw new InvalidArgumentError(rule);
  };
}

function parseMinutes(text: string): number {
  const minutes = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (minutes > 0 && minutes <= MAX_PAUSE_MINUTES) return minutes * 60_000;
  throw new InvalidArgumentError(
    `It must be a number of minutes above 0, at most ${MAX_PAUSE_MINUTES}.`,
  );
}

/** Names must be unique: each is one archive, and one repository in the records. */
function checkAddresses(sources: readonly Source[]): void {
  const addresses = new Set<string>();
  for (const { name, location } of sources) {
    const address = canonicalAddress(location);
    if (addresses.has(address)) throw wrongUsage(cleanText(`the source ${name} is given twice`));
    addresses.add(address);
  }
}

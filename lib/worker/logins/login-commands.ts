import { type Command, InvalidArgumentError, Option } from 'commander';
import type { LoginName } from './login.ts';

/** A command about logins. */
export type LoginCommand =
  | {
      name: 'login github';
      login: Extract<LoginName, `github:${string}`>;
      clientId: string | null;
      importToken: boolean;
      store: KeychainChoice;
    }
  | { name: 'login gateway'; paste: boolean; store: KeychainChoice }
  | { name: 'app create'; appName: string | null; organization: string | null; force: boolean }
  | { name: 'auth status'; check: boolean; json: boolean }
  | { name: 'auth token gateway' }
  | { name: 'logout'; login: LoginName | 'all' };

/** `file` forces the file; `auto` tries the keychain first. */
export type KeychainChoice = 'auto' | 'file';

/** Adds the commands about logins. */
export function addLogins(program: Command, found: (command: LoginCommand) => void): void {
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

import { type Command, InvalidArgumentError, Option } from 'commander';
import { isRepositoryName } from '../../../archives/base/archive-name.ts';
import { wrongUsage } from '../../../command-line.ts';
import {
  parseStoreAddress,
  type StoreAddress,
  StoreAddressError,
} from '../../../config/stores/store-address.ts';

/** The stores, the repository, and the identities that can read them. */
interface Common {
  /** Null for all of BACKUP_STORES. */
  store: StoreAddress | null;
  /** Null for all. */
  repository: string | null;
  /** As given; null for none. */
  identityFile: string | null;
}

export interface CheckStoreCommand extends Common {
  name: 'store-check';
  /** Whether to read every object. */
  isDeep: boolean;
}

export interface CopyStoreCommand extends Omit<Common, 'store'> {
  name: 'store-copy';
  from: StoreAddress;
  to: StoreAddress;
}

export interface PruneStoreCommand extends Common {
  name: 'store-prune';
  olderThanDays: number;
  /** Whether only to print what would be removed. */
  isDryRun: boolean;
}

/** Migrates the destination from the layout `files` to `parts`. */
export interface MigrateStoreCommand {
  name: 'store-migrate';
  /** Whether to skip the question. */
  isConfirmed: boolean;
}

/** Makes an age identity. */
export interface MakeIdentityCommand {
  name: 'store-identity';
  /** The new file; null for `identity.txt` in the folder of the logins. */
  file: string | null;
}

export type StoreCommand =
  | MakeIdentityCommand
  | CheckStoreCommand
  | CopyStoreCommand
  | PruneStoreCommand
  | MigrateStoreCommand;

interface CommonOptions {
  store?: StoreAddress;
  repo?: string;
  identity?: string;
}

const storeText =
  'such as s3://bucket/prefix, file:///mnt/nas or git+https://host/owner/name.git; default: each of BACKUP_STORES';
const identityText = 'the file of the age identity that decrypts the store';

/** Adds the commands that maintain stores. None of them needs a database. */
export function addStoreCommands(program: Command, found: (command: StoreCommand) => void): void {
  const store = program
    .command('store')
    .summary('check, copy and prune stores')
    .description('Maintains the stores that keep archives away from this machine.');
  store
    .command('check')
    .summary('check that everything is there')
    .description('Compares what a store has with what its states list.')
    .addOption(
      new Option('--store <url>', `${storeText}, and BACKUP_REPO_PATH`).argParser(parseStore),
    )
    .option('--repo <name>', 'only this repository, as owner/name')
    .option(
      '--deep',
      'download every object and check its SHA-256; with --identity, also that of its decrypted content',
    )
    .option(
      '--identity <file>',
      `${identityText}; without it, an encrypted store is compared with what this machine has stored`,
    )
    .addHelpText(
      'after',
      '\nExit codes: 0 everything is there; 1 something is wrong; 2 wrong usage.',
    )
    .action((options: CommonOptions & { deep?: true }) =>
      found({ name: 'store-check', ...common(options), isDeep: options.deep === true }),
    );
  store
    .command('copy')
    .summary('copy a store to another one')
    .description(
      'Copies what another store lacks, byte for byte, encrypted or not. Replaces nothing, and resumes after an interruption.',
    )
    .argument('<from>', 'such as s3://bucket/prefix', parseStore)
    .argument('<to>', 'such as file:///mnt/nas', parseStore)
    .option('--repo <name>', 'only this repository, as owner/name')
    .option('--identity <file>', `${identityText}; only to find --repo in it`)
    .addHelpText('after', '\nExit codes: 0 everything is there; 1 something is not; 2 wrong usage.')
    .action((from: StoreAddress, to: StoreAddress, options: CommonOptions) => {
      const { repository, identityFile } = common(options);
      found({ name: 'store-copy', from, to, repository, identityFile });
    });
  store
    .command('prune')
    .summary('remove what only old states need')
    .description(
      'Removes old states of archives, and the objects that no other state needs. The newest state of each archive stays, with all its versions. Needs credentials that allow deletion.',
    )
    .addOption(storeOption())
    .option('--repo <name>', 'only this repository, as owner/name')
    .option('--identity <file>', identityText)
    .addOption(
      new Option('--older-than <days>', 'what was stored more than this many days ago')
        .argParser(parseDays)
        .makeOptionMandatory(),
    )
    .option('--dry-run', 'only print what would be removed (the default)')
    .addOption(new Option('--yes', 'remove it').conflicts('dryRun'))
    .addHelpText('after', '\nExit codes: 0 done; 1 something was left alone; 2 wrong usage.')
    .action((options: CommonOptions & { olderThan: number; yes?: true }) =>
      found({
        name: 'store-prune',
        ...common(options),
        olderThanDays: options.olderThan,
        isDryRun: options.yes !== true,
      }),
    );
  store
    .command('migrate')
    .summary('migrate the git destination to the layout parts')
    .description(
      'Checks every archive of this machine and pushes it to BACKUP_REPO_PATH in the layout `parts`. The same commit removes the files at the root if all of them were pushed in parts; otherwise they are named and kept. Can be repeated.',
    )
    .option('--yes', 'without asking', false)
    .addHelpText(
      'after',
      '\nExit codes: 0 done; 1 something is left; 2 wrong usage; 75 another run is active.',
    )
    .action(({ yes }: { yes: boolean }) => found({ name: 'store-migrate', isConfirmed: yes }));
  store
    .command('identity')
    .summary('make an age identity, to encrypt stores')
    .description(
      'Makes an age identity, which decrypts what is stored, in a new file that only you can read, and prints its recipient for BACKUP_AGE_RECIPIENTS. The same as `age-keygen`, without age.',
    )
    .argument(
      '[file]',
      'the new file; an existing one is never replaced; default: identity.txt in BACKUP_CONFIG_DIR, where logins are kept',
    )
    .addHelpText(
      'after',
      '\nThe file must not be one that git could commit.\n\nExit codes: 0 done; 1 the file exists; 2 wrong usage, or a file that cannot or must not be written.',
    )
    .action((file?: string) => found({ name: 'store-identity', file: file ?? null }));
}

function storeOption(): Option {
  return new Option('--store <url>', storeText).argParser(parseStore);
}

function common({ store, repo, identity }: CommonOptions): Common {
  if (repo !== undefined && !isRepositoryName(repo)) {
    throw wrongUsage('--repo must be owner/name');
  }
  return { store: store ?? null, repository: repo ?? null, identityFile: identity ?? null };
}

/** Parses the address of a store on the command line. Throws InvalidArgumentError. */
export function parseStore(text: string): StoreAddress {
  try {
    return parseStoreAddress(text);
  } catch (error) {
    if (!(error instanceof StoreAddressError)) throw error;
    throw new InvalidArgumentError(`It ${error.message}.`);
  }
}

function parseDays(text: string): number {
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number of days, at least 1.');
}

import { type Command, InvalidArgumentError, Option } from 'commander';
import { isRepositoryName } from '../../archives/base/archive-name.ts';
import { wrongUsage } from '../../command-line.ts';

/** Proves that archives can be restored. */
export interface DrillCommand {
  name: 'drill';
  /** Null: the repositories that are due, or all of them. */
  repository: string | null;
  isAll: boolean;
  /** Null: DRILL_BUDGET_MINUTES, or no limit for one repository and for all. */
  budgetMinutes: number | null;
  /** As given on the command line; null for none. */
  identityFile: string | null;
}

const MAX_MINUTES = 7 * 24 * 60;

interface DrillOptions {
  repo?: string;
  all?: true;
  budget?: number;
  identity?: string;
}

/** Adds `drill`. */
export function addDrillCommand(program: Command, found: (command: DrillCommand) => void): void {
  program
    .command('drill')
    .summary('prove that archives can be restored')
    .description(
      'Restores archives into a temporary folder, from the place that a real restore would use (the stores or the destination, else the archive folder), proves that the result is whole, removes it, and records the outcome in a ledger. By default, drills the repositories that are due, the oldest proof first.',
    )
    .option('--repo <name>', 'only this repository, as owner/name, now')
    .addOption(new Option('--all', 'all repositories, now').conflicts('repo'))
    .addOption(
      new Option(
        '--budget <minutes>',
        'stop after this time; default: DRILL_BUDGET_MINUTES, or no limit with --repo and --all',
      ).argParser(parseMinutes),
    )
    .option('--identity <file>', 'the file of the age identity that decrypts the stores')
    .addHelpText(
      'after',
      '\nExit codes: 0 no drill failed; 1 an archive cannot be restored, or the drills could not be done; 2 wrong usage.',
    )
    .action(({ repo, all, budget, identity }: DrillOptions) => {
      if (repo !== undefined && !isRepositoryName(repo)) {
        throw wrongUsage('--repo must be like owner/name');
      }
      found({
        ...{ name: 'drill', repository: repo ?? null, isAll: all === true },
        ...{ budgetMinutes: budget ?? null, identityFile: identity ?? null },
      });
    });
}

function parseMinutes(text: string): number {
  const minutes = Number(text);
  if (/^\d{1,5}$/.test(text) && minutes >= 1 && minutes <= MAX_MINUTES) return minutes;
  throw new InvalidArgumentError(`It must be a whole number of minutes, 1 to ${MAX_MINUTES}.`);
}

import type { Command } from 'commander';
import { wrongUsage } from '../../command-line.ts';

export type AnomalyCommand =
  | { name: 'anomalies' }
  | {
      name: 'anomalies-confirm';
      /** Null for the anomalies that concern all repositories. */
      repository: string | null;
    };

/** Adds the commands for anomalies that a person should review. */
export function addAnomalyCommands(
  program: Command,
  found: (command: AnomalyCommand) => void,
): void {
  const anomalies = program
    .command('anomalies')
    .summary('list and confirm anomalies that hold back pruning')
    .description(
      'Lists anomalies that a person should review, such as rewritten branches. Until they are confirmed, no older version is pruned.',
    )
    .addHelpText('after', '\nThe database is DATABASE_URL, else that of a running `npm start`.')
    .action(() => found({ name: 'anomalies' }));
  anomalies
    .command('confirm')
    .summary('confirm the anomalies of a repository')
    .description('Confirms everything listed for a repository. Takes effect with the next run.')
    .argument('[repository]', 'as owner/name')
    .option('--missing', 'confirm instead that many repositories were missing at once', false)
    .action((repository: string | undefined, { missing }: { missing: boolean }) => {
      if (missing === (repository !== undefined)) {
        throw wrongUsage('name a repository, or give --missing');
      }
      found({ name: 'anomalies-confirm', repository: repository ?? null });
    });
}

export interface ForgetCommand {
  name: 'forget';
  /** Names and patterns. None, without `isNever`: to list the forgotten repositories. */
  names: string[];
  /** Whether to forget all repositories that were never backed up. */
  isNever: boolean;
  /** Whether to track the repositories again instead. */
  isUndo: boolean;
  /** Whether the user knows that nothing is kept of some. */
  nothingKept: boolean;
}

interface ForgetOptions {
  undo: boolean;
  never: boolean;
  nothingKept: boolean;
}

/** Adds the command that stops tracking repositories. */
export function addForgetCommand(program: Command, found: (command: ForgetCommand) => void): void {
  program
    .command('forget')
    .summary('stop tracking a repository that was removed on purpose')
    .description(
      'Forgets repositories: no run reports them as missing, no alert names them, and nothing counts them, until a run backs them up, finds them unchanged, or fails to back them up. Their archives and records stay. Looks for each archive, and says what is kept. Without a name, lists the forgotten repositories.',
    )
    .argument('[repositories...]', "as owner/name in any letter case, or patterns such as 'old/*'")
    .option('--never', 'all repositories that were never backed up', false)
    .option(
      '--nothing-kept',
      'also those of which nothing is kept: no archive, and no copy in a store',
      false,
    )
    .option('--undo', 'track them again', false)
    .addHelpText(
      'after',
      `
The database is DATABASE_URL, else that of a running \`npm start\`.

Exit codes: 0 done; 1 there is no such repository, or nothing is kept of one; 2 wrong usage.`,
    )
    .action((names: string[], { undo: isUndo, never: isNever, nothingKept }: ForgetOptions) => {
      if (isUndo && (names.length === 0 || isNever)) throw wrongUsage('--undo needs a repository');
      found({ name: 'forget', names, isNever, isUndo, nothingKept });
    });
}

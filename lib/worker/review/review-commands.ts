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
  /** Null to list the forgotten repositories. */
  repository: string | null;
  /** Whether to track the repository again instead. */
  isUndo: boolean;
}

/** Adds the command that stops tracking a repository. */
export function addForgetCommand(program: Command, found: (command: ForgetCommand) => void): void {
  program
    .command('forget')
    .summary('stop tracking a repository that was removed on purpose')
    .description(
      'Forgets a repository: no run reports it as missing, no alert names it, and nothing counts it, until a run backs it up, finds it unchanged, or fails to back it up. Its archive and its records stay. Without a name, lists the forgotten repositories.',
    )
    .argument('[repository]', 'as owner/name, in any letter case')
    .option('--undo', 'track it again', false)
    .addHelpText(
      'after',
      `
The database is DATABASE_URL, else that of a running \`npm start\`.

Exit codes: 0 done; 1 there is no such repository; 2 wrong usage.`,
    )
    .action((repository: string | undefined, { undo: isUndo }: { undo: boolean }) => {
      if (isUndo && repository === undefined) throw wrongUsage('--undo needs a repository');
      found({ name: 'forget', repository: repository ?? null, isUndo });
    });
}

import type { Command } from 'commander';
import { wrongUsage } from '../../command-line.ts';

export type AnomalyCommand =
  | { name: 'anomalies' }
  | {
      name: 'anomalies-confirm';
      /** Null: what concerns all repositories. */
      repository: string | null;
    };

/** Adds the commands for what a person should look at. */
export function addAnomalyCommands(
  program: Command,
  found: (command: AnomalyCommand) => void,
): void {
  const anomalies = program
    .command('anomalies')
    .summary('list and confirm what holds back pruning')
    .description(
      'Lists what a person should look at, such as rewritten branches. Until it is confirmed, no older version is pruned.',
    )
    .addHelpText('after', '\nThe database is DATABASE_URL, else that of a running `npm start`.')
    .action(() => found({ name: 'anomalies' }));
  anomalies
    .command('confirm')
    .summary('confirm what was seen in a repository')
    .description('Confirms all that is listed for a repository, from the next run on.')
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
  /** Null: list what is forgotten. */
  repository: string | null;
  /** Track it again instead. */
  isUndo: boolean;
}

/** Adds the command that gives up a repository. */
export function addForgetCommand(program: Command, found: (command: ForgetCommand) => void): void {
  program
    .command('forget')
    .summary('give up a repository that is gone on purpose')
    .description(
      'Forgets a repository: no run misses it at its source, no alert names it, and it is counted nowhere, until a run backs it up, finds it unchanged, or fails to back it up. Its archive and all that is recorded of it stay. Without a name, lists what is forgotten.',
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

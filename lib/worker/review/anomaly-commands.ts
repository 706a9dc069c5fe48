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

import { type Command, InvalidArgumentError, Option } from 'commander';
import { patternFault } from '../../text/name-pattern.ts';

export type SourceCommand =
  | { name: 'sources-list'; isJson: boolean }
  | {
      name: 'sources-add';
      addresses: string[];
      /** Whether each repository in a folder becomes a source of its own. */
      isEach: boolean;
      exclude: string[];
    }
  | { name: 'sources-remove'; sources: string[]; nothingKept: boolean }
  | { name: 'sources-pause' | 'sources-resume'; sources: string[] };

/** Adds the commands that say what is backed up. */
export function addSourceCommands(program: Command, found: (command: SourceCommand) => void): void {
  const sources = program
    .command('sources')
    .summary('say what is backed up: list, add, remove and pause sources')
    .description(
      'A source is what a run without --source backs up: a repository, a folder that holds some, or `login`, which is everything that the login discovers.',
    );
  sources
    .command('list')
    .summary('list the sources with what came of them')
    .description('Lists the sources, with their ids, and what came of them.')
    .addOption(new Option('--json', 'print JSON').default(false))
    .action(({ json: isJson }: { json: boolean }) => found({ name: 'sources-list', isJson }));
  sources
    .command('add')
    .summary('try addresses, and add them')
    .description(
      'Tries each address before it is added: whether it can be reached, whether the login of git is accepted, and whether there is a repository. A folder that is no repository stands for the repositories directly in it, also those that come later.',
    )
    .argument('<addresses...>', 'folders, or https://, ssh:// or user@host:path addresses')
    .option('--each', 'add each repository in a folder by itself instead of the folder', false)
    .option(
      '--exclude <pattern>',
      'leave out repositories in the folder whose name matches; may be repeated',
      appendPattern,
    )
    .addHelpText(
      'after',
      `
Credentials come from git's credential helper or the ssh agent, never from the address. The database is DATABASE_URL,
else that of a running \`npm start\`.

Exit codes: 0 added; 1 one was refused, with the reason; 2 wrong usage.`,
    )
    .action((addresses: string[], { each, exclude = [] }: { each: boolean; exclude?: string[] }) =>
      found({ name: 'sources-add', addresses, isEach: each, exclude }),
    );
  sources
    .command('remove')
    .summary('remove sources, and forget what only they name')
    .description(
      'Removes sources, and forgets the repositories that no other source names, as `forget` does: their archives stay.',
    )
    .argument('<sources...>', 'addresses, or ids of `sources list`')
    .option('--nothing-kept', 'also if nothing is kept of a repository', false)
    .action((names: string[], { nothingKept }: { nothingKept: boolean }) =>
      found({ name: 'sources-remove', sources: names, nothingKept }),
    );
  sources
    .command('pause')
    .summary('leave sources out of the runs')
    .description('Leaves sources out of the runs from now on. Their archives are kept.')
    .argument('<sources...>', 'addresses, ids of `sources list`, or `login`')
    .action((names: string[]) => found({ name: 'sources-pause', sources: names }));
  sources
    .command('resume')
    .summary('back up paused sources again')
    .description('Backs up paused sources again.')
    .argument('<sources...>', 'addresses, ids of `sources list`, or `login`')
    .action((names: string[]) => found({ name: 'sources-resume', sources: names }));
}

function appendPattern(text: string, before: string[] | undefined): string[] {
  const fault = patternFault(text);
  if (fault === null) return [...(before ?? []), text];
  throw new InvalidArgumentError(`A pattern ${fault}.`);
}

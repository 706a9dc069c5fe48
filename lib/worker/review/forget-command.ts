import type { Command } from 'commander';
import { wrongUsage } from '../../command-line.ts';

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

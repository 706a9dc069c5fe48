import * as z from 'zod';
import { MAX_REPOSITORY_LENGTH } from '../../archives/archive-name.ts';
import { readConfig } from '../../config/read.ts';
import {
  forgetRepository,
  listForgotten,
  rememberRepository,
} from '../../records/repositories/forgotten.ts';
import { cleanText } from '../../text/clean-text.ts';
import { commandAlertVariables, raiseAfterCommand } from '../alerting/command-alerts.ts';
import { contextVariables, type WorkerOptions, withDatabase } from '../command-context.ts';
import { describeUser } from './person.ts';
import type { ForgetCommand } from './review-commands.ts';

/** How many repositories are listed. */
const MAX_LISTED = 1_000;

/** Forgets a repository, tracks it again, or lists the forgotten ones. Returns the exit code. */
export function runForget(
  options: WorkerOptions,
  { repository, isUndo }: ForgetCommand,
): Promise<number> {
  const variables = z.object({ ...contextVariables, ...commandAlertVariables.shape });
  const config = readConfig(variables, options.environment);
  const { stdout } = options.io;
  return withDatabase(options, config, async (context) => {
    const { db } = context;
    if (repository === null) {
      const forgotten = await listForgotten(db, MAX_LISTED);
      for (const { name, at, by } of forgotten) {
        stdout.write(`${cleanText(`${name}: forgotten ${at} by ${by}`, 800)}\n`);
      }
      if (forgotten.length === 0) stdout.write('Nothing is forgotten.\n');
      return 0;
    }
    const name = cleanText(repository, MAX_REPOSITORY_LENGTH);
    const isDone = isUndo
      ? await rememberRepository(db, repository)
      : await forgetRepository(db, repository, describeUser());
    if (!isDone) {
      stdout.write(isUndo ? `${name} is not forgotten.\n` : `There is no repository ${name}.\n`);
      return 1;
    }
    stdout.write(
      isUndo
        ? `${name} is tracked again.\n`
        : `Forgot ${name}, until a run records something about it. Its backups are kept; \`npm run worker -- forget ${name} --undo\` tracks it again.\n`,
    );
    await raiseAfterCommand(context, config);
    return 0;
  });
}

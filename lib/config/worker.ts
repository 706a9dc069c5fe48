import * as z from 'zod';
import { patternFault } from '../text/name-pattern.ts';
import { gitVariables } from './git.ts';
import { list, secureUrl, wholeNumber } from './values.ts';

const patterns = list
  .refine((texts) => texts.every((text) => patternFault(text) === null), {
    error: ({ input }) =>
      (input as string[])
        .flatMap((text) => patternFault(text) ?? [])
        .slice(0, 1)
        .join(),
  })
  .default([]);

/** Backup runs. */
export const workerVariables = z.object({
  ...gitVariables.shape,
  BACKUP_CONCURRENCY: wholeNumber(1, 64)
    .default(4)
    .describe('how many repositories a run backs up at once, 1 to 64'),
  BACKUP_ONLY: patterns.describe(
    'patterns of the only repositories to back up, separated by commas, such as `team/*, web-?`; overridden by `--only`',
  ),
  BACKUP_EXCLUDE: patterns.describe(
    'patterns of repositories to skip, separated by commas; overridden by `--exclude`',
  ),
  DRILL_BUDGET_MINUTES: wholeNumber(0, 24 * 60)
    .default(5)
    .describe(
      'minutes spent after each run on restoring archives to prove that they can be restored, oldest proof first; 0: none; see docs/restore-drills.md',
    ),
  HEARTBEAT_URL: secureUrl
    .optional()
    .describe(
      'ping URL of Healthchecks or a similar service, called at the start, success or failure of each run',
    ),
});

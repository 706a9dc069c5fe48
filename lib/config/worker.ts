import * as z from 'zod';
import { wholeNumber } from './values.ts';

/** Backup runs. */
export const workerVariables = z.object({
  BACKUP_CONCURRENCY: wholeNumber(1, 64)
    .default(4)
    .describe('how many repositories a run backs up at once, 1 to 64'),
});

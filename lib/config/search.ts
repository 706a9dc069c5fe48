import * as z from 'zod';
import { seconds } from './values.ts';

/** Embedding generations. */
export const searchVariables = z.object({
  EMBEDDING_BATCH_TIME_BUDGET_SECONDS: seconds(3_600)
    .default(25)
    .describe('seconds after which a call to process-batch starts no new batch'),
});

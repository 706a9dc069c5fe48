import * as z from 'zod';
import { seconds } from './values.ts';

/** Search and embedding generations. */
export const searchVariables = z.object({
  SEARCH_TIME_BUDGET_SECONDS: seconds(60)
    .default(0.6)
    .describe('seconds after which the full-text part of a search returns what it has found'),
  EMBEDDING_BATCH_TIME_BUDGET_SECONDS: seconds(3_600)
    .default(25)
    .describe('seconds after which a call to process-batch starts no new batch'),
});

import * as z from 'zod';
import { logLevels } from '../log.ts';

/** How much is logged. */
export const logVariables = z.object({
  LOG_LEVEL: z
    .enum(logLevels, 'must be debug, info, warn or error')
    .default('info')
    .describe('least level that is written'),
});

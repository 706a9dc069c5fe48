import * as z from 'zod';
import { logLevels } from '../log/log.ts';

/** Logging. */
export const logVariables = z.object({
  LOG_LEVEL: z
    .enum(logLevels, 'must be debug, info, warn or error')
    .default('info')
    .describe('minimum level of log lines'),
});

import * as z from 'zod';
import { wholeNumber } from './values.ts';

/** Thresholds of the alert rules. */
export const alertRuleVariables = z.object({
  ALERT_FAILING_AFTER: wholeNumber(1, 100)
    .default(2)
    .describe('a repository that failed this many times in a row is an incident, 1 to 100'),
});

import * as z from 'zod';

/** The states of repositories. */
export const freshnessVariables = z.object({
  FRESHNESS_HOURS: z.coerce
    .number('must be a number of hours')
    .int('must be a whole number of hours')
    .min(1, 'must be at least 1')
    .max(8760, 'must be at most 8760 (a year)')
    .default(26)
    .describe(
      'a repository without a good backup for this many hours is stale, unless runs are usually further apart',
    ),
});

import * as z from 'zod';
import { parseTiming, TimingFault } from '../timing/timing.ts';

/** When a repository counts as stale, and when runs start. */
export const freshnessVariables = z.object({
  FRESHNESS_HOURS: z.coerce
    .number('must be a number of hours')
    .int('must be a whole number of hours')
    .min(1, 'must be at least 1')
    .max(8760, 'must be at most 8760 (a year)')
    .default(26)
    .describe(
      'a repository without a good backup for this many hours is stale, unless runs are further apart',
    ),
  BACKUP_EVERY: z
    .string()
    .transform((text, context) => {
      try {
        return parseTiming(text);
      } catch (error) {
        if (!(error instanceof TimingFault)) throw error;
        context.addIssue(error.message);
        return z.NEVER;
      }
    })
    .optional()
    .describe(
      'when `npm start` starts a run of all sources: an interval such as `6h` or `1d`, words such as `daily at 02:30`, or cron of five fields; replaces the schedules of the page. See docs/schedule.md',
    ),
});

/** The settings for judging freshness. */
export type FreshnessConfig = z.output<typeof freshnessVariables>;

/** What BACKUP_EVERY declares as the time between runs, in milliseconds; null if it is unset. */
export function declaredInterval({
  BACKUP_EVERY,
}: Pick<FreshnessConfig, 'BACKUP_EVERY'>): number | null {
  return BACKUP_EVERY?.intervalMs ?? null;
}

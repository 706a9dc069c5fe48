import * as z from 'zod';

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

const MAX_SCHEDULE_MS = 365 * unitMs.d;

/** When a repository counts as stale. */
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
      const everyMs = parseSchedule(text);
      if (everyMs !== null) return everyMs;
      context.addIssue('must look like 30m, 24h, 1d or 1w, at most a year');
      return z.NEVER;
    })
    .optional()
    .describe(
      "how often you start a run, such as `30m`, `24h`, `1d` or `1w`; default: the interval of the worker's `--every`, else learned from the last runs. Does not start runs by itself",
    ),
});

/** The settings for judging freshness; BACKUP_EVERY is in milliseconds. */
export type FreshnessConfig = z.output<typeof freshnessVariables>;

/** Returns milliseconds; null unless the text is a duration above 0 and at most a year. */
function parseSchedule(text: string): number | null {
  const [, count, unit] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  if (count === undefined || unit === undefined) return null;
  const everyMs = Number(count) * unitMs[unit as keyof typeof unitMs];
  return everyMs > 0 && everyMs <= MAX_SCHEDULE_MS ? everyMs : null;
}

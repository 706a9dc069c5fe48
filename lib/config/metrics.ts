import * as z from 'zod';
import { wholeNumber } from './values.ts';

/** Prometheus metrics. */
export const metricsVariables = z.object({
  METRICS_REPOSITORIES: wholeNumber(0, 100_000)
    .default(2_000)
    .describe(
      'up to this many tracked repositories have their own series in /metrics; with more, there are only totals',
    ),
});

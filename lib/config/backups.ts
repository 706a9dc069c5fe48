import * as z from 'zod';
import { alertSendingVariables } from './alert-channels.ts';
import { alertRuleVariables } from './alert-rules.ts';
import { databaseVariables } from './database.ts';
import { freshnessVariables } from './freshness.ts';
import { gitHostVariables } from './git-host.ts';
import { httpVariables } from './http.ts';
import { identityVariables } from './identity.ts';
import { logVariables } from './log.ts';
import { metricsVariables } from './metrics.ts';
import { redisVariables } from './redis.ts';
import { scheduleVariables } from './schedule.ts';
import { sourceVariables } from './sources.ts';
import { secret } from './values.ts';

/** The sweep of stale runs. */
export const sweepVariables = z.object({
  CRON_SECRET: secret
    .optional()
    .describe(
      'bearer secret of /api/cron/*, at least 32 characters; INTERNAL_SECRET is accepted too',
    ),
  STALE_RUN_AFTER_MINUTES: z.coerce
    .number('must be a number of minutes')
    .positive('must be a number of minutes above 0')
    .max(525_600, 'must be at most 525600 (a year)')
    .default(30)
    .describe('a run without a heartbeat for this long is marked as failed'),
});

/** All variables of the service API. */
export const backupsVariables = z.object({
  ...databaseVariables.shape,
  ...redisVariables.shape,
  ...logVariables.shape,
  ...httpVariables.shape,
  ...identityVariables.shape,
  ...sweepVariables.shape,
  ...freshnessVariables.shape,
  ...scheduleVariables.shape,
  ...alertRuleVariables.shape,
  ...alertSendingVariables.shape,
  ...metricsVariables.shape,
  ...sourceVariables.shape,
  GIT_HOST_URL: gitHostVariables.shape.GIT_HOST_URL,
});

export type BackupsConfig = z.output<typeof backupsVariables>;

import * as z from 'zod';
import { alertSendingVariables } from '../alert-channels.ts';
import { alertRuleVariables } from '../alert-rules.ts';
import { archiveVariables, restoreVariables } from '../archives.ts';
import { sweepVariables } from '../backups.ts';
import { freshnessVariables } from '../freshness.ts';
import { gitHostVariables } from '../git-host.ts';
import { liveSurfaceVariables } from '../live.ts';
import { mcpSurfaceVariables } from '../mcp.ts';
import { metricsVariables } from '../metrics.ts';
import { observatoryVariables } from '../observatory.ts';
import { scheduleVariables } from '../schedule.ts';
import { sourceVariables } from '../sources.ts';

/** The configuration of `npm start`. */
export const localVariables = z.object({
  ...sweepVariables.shape,
  ...freshnessVariables.shape,
  ...scheduleVariables.shape,
  ...alertRuleVariables.shape,
  ...alertSendingVariables.shape,
  ...metricsVariables.shape,
  ...liveSurfaceVariables.shape,
  ...mcpSurfaceVariables.shape,
  ...observatoryVariables.shape,
  ...archiveVariables.shape,
  ...restoreVariables.shape,
  ...sourceVariables.shape,
  ...gitHostVariables.shape,
});

export type LocalConfig = z.output<typeof localVariables>;

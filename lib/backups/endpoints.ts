import type { Endpoint } from '../platform/http/route.ts';
import { analyticsEndpoints } from './analytics.ts';
import { cronEndpoints } from './cron.ts';
import { dashboardEndpoints } from './dashboard.ts';
import { docsEndpoints } from './docs.ts';
import type { BackupsHandles } from './handles.ts';
import { healthEndpoints } from './health.ts';
import { logsEndpoints } from './logs.ts';
import { metricsEndpoints } from './metrics.ts';
import { reposEndpoints } from './repos.ts';
import { runsEndpoints } from './runs.ts';

/** Every endpoint of the service API but the live feed. Of two paths that overlap the exact one is first. */
export const backupsEndpoints: readonly Endpoint<BackupsHandles>[] = [
  ...runsEndpoints,
  ...dashboardEndpoints,
  ...analyticsEndpoints,
  ...reposEndpoints,
  ...logsEndpoints,
  ...healthEndpoints,
  ...metricsEndpoints,
  ...cronEndpoints,
  ...docsEndpoints,
];

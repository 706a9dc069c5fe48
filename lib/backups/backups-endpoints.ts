import type { Endpoint } from '../http/route.ts';
import { analyticsEndpoints } from './analytics.ts';
import type { BackupsDeps } from './backups-deps.ts';
import { cronEndpoints } from './cron.ts';
import { dashboardEndpoints } from './dashboard.ts';
import { docsEndpoints } from './docs.ts';
import { healthEndpoints } from './health.ts';
import { logsEndpoints } from './logs.ts';
import { metricsEndpoints } from './prometheus.ts';
import { reposEndpoints } from './repos.ts';
import { runsEndpoints } from './runs.ts';

/** Every endpoint of the service API but the live feed. Of two paths that overlap the exact one is first. */
export const backupsEndpoints: readonly Endpoint<BackupsDeps>[] = [
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

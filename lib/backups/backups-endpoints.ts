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

/** All endpoints of the service API except the live feed. If paths overlap, the exact one comes first. */
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

import type { Endpoint } from '../http/route.ts';
import { archivesEndpoints } from './archives/endpoints.ts';
import { badgesEndpoints } from './badges/badges.ts';
import { publicBadgeEndpoints } from './badges/public-badge.ts';
import type { BackupsDeps } from './base/backups-deps.ts';
import { coverageEndpoints } from './coverage.ts';
import { cronEndpoints } from './cron.ts';
import { dashboardStatsEndpoints } from './dashboard-stats.ts';
import { docsEndpoints } from './docs.ts';
import { drillsEndpoints } from './drills.ts';
import { fixesEndpoints } from './fixes.ts';
import { healthEndpoints } from './health.ts';
import { incidentsEndpoints } from './incidents.ts';
import { logsEndpoints } from './logs.ts';
import { objectivesEndpoints } from './objectives.ts';
import { overviewEndpoints } from './overview.ts';
import { metricsEndpoints } from './prometheus/endpoint.ts';
import { anomaliesEndpoints } from './repositories/anomalies.ts';
import { forgetEndpoints } from './repositories/forget.ts';
import { reposEndpoints } from './repositories/repos.ts';
import { storesEndpoints } from './repositories/stores.ts';
import { versionsEndpoints } from './repositories/versions.ts';
import { restoresEndpoints } from './restores/restores.ts';
import { runMetricsEndpoints } from './runs/run-metrics.ts';
import { runRequestsEndpoints } from './runs/run-requests.ts';
import { runsEndpoints } from './runs/runs.ts';
import { schedulesEndpoints } from './schedules.ts';
import { snapshotsEndpoints } from './snapshots.ts';
import { sourcesEndpoints } from './sources.ts';
import { statementsEndpoints } from './statements.ts';
import { statusPagesEndpoints } from './status-pages/status-pages.ts';
import { digestEndpoints } from './telling/digest.ts';
import { maintenanceEndpoints } from './telling/maintenance.ts';
import { mutesEndpoints } from './telling/mutes.ts';
import { quietHoursEndpoints } from './telling/quiet-hours.ts';

/** All endpoints of the service API except the live feed. If paths overlap, the exact one comes first. */
export const backupsEndpoints: readonly Endpoint<BackupsDeps>[] = [
  ...runsEndpoints,
  ...overviewEndpoints,
  ...dashboardStatsEndpoints,
  ...runMetricsEndpoints,
  ...snapshotsEndpoints,
  ...reposEndpoints,
  ...versionsEndpoints,
  ...storesEndpoints,
  ...anomaliesEndpoints,
  ...forgetEndpoints,
  ...drillsEndpoints,
  ...statementsEndpoints,
  ...objectivesEndpoints,
  ...coverageEndpoints,
  ...incidentsEndpoints,
  ...quietHoursEndpoints,
  ...mutesEndpoints,
  ...maintenanceEndpoints,
  ...digestEndpoints,
  ...archivesEndpoints,
  ...restoresEndpoints,
  ...logsEndpoints,
  ...fixesEndpoints,
  ...runRequestsEndpoints,
  ...schedulesEndpoints,
  ...sourcesEndpoints,
  ...badgesEndpoints,
  ...publicBadgeEndpoints,
  ...statusPagesEndpoints,
  ...healthEndpoints,
  ...metricsEndpoints,
  ...cronEndpoints,
  ...docsEndpoints,
];

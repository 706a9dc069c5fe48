import { type Endpoint, endpoint } from '../http/route.ts';
import { readDashboardStats } from '../records/dashboard-stats.ts';
import { judgingNow } from '../records/repositories/repository-states.ts';
import type { BackupsDeps } from './base/backups-deps.ts';
import { sendJson } from './base/json.ts';
import { dashboardStats } from './base/overview-shapes.ts';

/** GET /api/dashboard/stats. */
export const dashboardStatsEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      method: 'get',
      tag: 'Dashboard',
      access: 'reader',
      path: '/api/dashboard/stats',
      summary: 'Read the statistics of all runs',
      responses: { 200: { description: 'The statistics.', schema: dashboardStats } },
    },
    async (_input, deps: BackupsDeps, c) =>
      sendJson(c, await readDashboardStats(deps.db, judgingNow(deps))),
  ),
];

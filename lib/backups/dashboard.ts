import { type Endpoint, endpoint } from '../http/route.ts';
import { readDashboardStats, readRunMetrics } from '../records/stats.ts';
import type { BackupsDeps } from './backups-deps.ts';
import { daysInput } from './input.ts';
import { sendJson } from './json.ts';
import { dashboardStats, runMetrics } from './shapes.ts';

const DAY_MS = 86_400_000;

const common = { method: 'get', tag: 'Dashboard', access: 'reader' } as const;

/** GET /api/dashboard/stats and /api/metrics. */
export const dashboardEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      ...common,
      path: '/api/dashboard/stats',
      summary: 'Read the statistics of all runs',
      responses: { 200: { description: 'The statistics.', schema: dashboardStats } },
    },
    async (_input, { db }: BackupsDeps, c) => sendJson(c, await readDashboardStats(db)),
  ),
  endpoint(
    {
      ...common,
      path: '/api/metrics',
      summary: 'Read the runs of the last days with their statistics',
      query: daysInput,
      responses: {
        200: { description: 'Runs, oldest first, and statistics.', schema: runMetrics },
      },
    },
    async ({ query }, { db, clock }: BackupsDeps, c) =>
      sendJson(c, await readRunMetrics(db, clock.now() - query.days * DAY_MS)),
  ),
];

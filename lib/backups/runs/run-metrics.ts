import { type Endpoint, endpoint } from '../../http/route.ts';
import { readRunMetrics } from '../../records/runs/run-metrics.ts';
import type { BackupsDeps } from '../base/backups-deps.ts';
import { daysInput } from '../base/input.ts';
import { sendJson } from '../base/json.ts';
import { runMetrics } from '../base/overview-shapes.ts';

const DAY_MS = 86_400_000;

/** GET /api/metrics. */
export const runMetricsEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      method: 'get',
      tag: 'Dashboard',
      access: 'reader',
      path: '/api/metrics',
      summary: 'Read the runs of the last days, with statistics',
      query: daysInput,
      responses: {
        200: { description: 'Runs, oldest first, and statistics.', schema: runMetrics },
      },
    },
    async ({ query }, { db, clock }: BackupsDeps, c) =>
      sendJson(c, await readRunMetrics(db, clock.now() - query.days * DAY_MS)),
  ),
];

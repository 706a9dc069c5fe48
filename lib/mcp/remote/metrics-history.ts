import * as z from 'zod';
import type { MetricsHistory } from '../../tools/backup-source.ts';
import type { RemoteApi } from './api.ts';

const metrics = z.object({
  avg_duration_ms: z.number(),
  runs: z.array(
    z.object({
      status: z.string(),
      started_at: z.string(),
      duration_ms: z.number(),
      total_repos: z.number(),
      successful: z.number(),
      failed: z.number(),
    }),
  ),
});

type MeasuredRun = z.output<typeof metrics>['runs'][number];

/** Returns the same as `readMetricsHistory` of lib/records, from GET /api/metrics. */
export async function readRemoteMetrics(
  api: RemoteApi,
  days: number,
  signal: AbortSignal,
): Promise<MetricsHistory> {
  const { avg_duration_ms, runs } = await api.read(`/api/metrics?days=${days}`, metrics, signal);
  const processed = sum(runs, ({ total_repos }) => total_repos);
  const failed = sum(runs, (run) => run.failed);
  const byDay = Map.groupBy(runs, ({ started_at }) => started_at.slice(0, 10));
  return {
    average_run_duration_ms: avg_duration_ms,
    aggregated_success_rate: processed > 0 ? Math.max(0, Math.min(1, 1 - failed / processed)) : 0,
    history: [...byDay]
      .map(([date, runs]) => ({
        date,
        runs: runs.length,
        successful: sum(runs, ({ successful }) => successful),
        failed: sum(runs, (run) => run.failed),
        avg_duration_ms: meanDuration(runs),
      }))
      .sort((a, b) => (a.date < b.date ? 1 : -1)),
  };
}

/** The rounded mean of finished runs with a duration; 0 without any. */
function meanDuration(runs: readonly MeasuredRun[]): number {
  const finished = runs.filter(
    ({ status, duration_ms }) => status !== 'running' && duration_ms > 0,
  );
  if (finished.length === 0) return 0;
  return Math.round(sum(finished, ({ duration_ms }) => duration_ms) / finished.length);
}

function sum<Item>(items: readonly Item[], figureOf: (item: Item) => number): number {
  return items.reduce((total, item) => total + figureOf(item), 0);
}

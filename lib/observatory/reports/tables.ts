import type { Figures, RunFigures } from '../../records/report-facts.ts';
import { formatMinute } from '../../text/format-minute.ts';
import { quote, table } from '../../text/markdown.ts';
import { formatBytes, formatDuration } from '../../text/units.ts';
import type { ChartPoint } from './chart.ts';

/** `2026-01-31 08:15 UTC`, or a dash for null. */
export function moment(iso: string | null): string {
  return iso === null ? '–' : formatMinute(iso);
}

/** The percentage of repositories that did not fail; null without repositories. */
export function successRate({ total_repos, failed }: Figures): number | null {
  if (total_repos <= 0) return null;
  return Math.min(100, Math.max(0, 100 * (1 - failed / total_repos)));
}

/** `97.5%`, or a dash for null. */
export function percentage(rate: number | null): string {
  return rate === null ? '–' : `${Math.round(rate * 10) / 10}%`;
}

/** A table of runs with their failures and sizes. */
export function runsTable(runs: readonly RunFigures[]): string {
  return table(
    ['Run', 'Started', 'Status', 'Repositories', 'Failed', 'Skipped', 'Size', 'Duration'],
    runs.map((run) => [
      String(run.id),
      moment(run.started_at),
      quote(run.status),
      String(run.total_repos),
      String(run.failed),
      String(run.skipped),
      formatBytes(run.size_bytes),
      formatDuration(run.duration_ms),
    ]),
  );
}

/** The points of a chart, oldest first, for runs that are newest first. */
export function chartRuns(runs: readonly RunFigures[]): ChartPoint[] {
  return runs
    .map((run) => ({
      label: `#${run.id}`,
      successRate: successRate(run),
      duration: run.duration_ms,
    }))
    .reverse();
}

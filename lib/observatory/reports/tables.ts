import type { Figures, RunFigures } from '../../records/report-facts.ts';
import { formatBytes, formatDuration } from '../../text/units.ts';
import type { ChartPoint } from './chart.ts';
import { quote } from './text.ts';

/** A markdown table. Cells are markdown without columns: text from outside comes through `quote`. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(escapeBars).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** A bar belongs to the text of its cell. The table would drop a backslash before it, so that one moves away. */
function escapeBars(cell: string): string {
  return cell.replace(/\\(?=\|)/g, '\\ ').replaceAll('|', '\\|');
}

/** `2026-01-31 08:15 UTC`; a dash for none. */
export function moment(iso: string | null): string {
  return iso === null ? '–' : `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
}

/** The share of repositories that did not fail, 0 to 100; null when there were none. */
export function successRate({ total_repos, failed }: Figures): number | null {
  if (total_repos <= 0) return null;
  return Math.min(100, Math.max(0, 100 * (1 - failed / total_repos)));
}

/** A rate for people: `97.5%`; a dash for none. */
export function percentage(rate: number | null): string {
  return rate === null ? '–' : `${Math.round(rate * 10) / 10}%`;
}

/** Runs with what failed in them and how large they were. */
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

/** Runs, newest first, as points of a chart, oldest first. */
export function chartRuns(runs: readonly RunFigures[]): ChartPoint[] {
  return runs
    .map((run) => ({
      label: `#${run.id}`,
      successRate: successRate(run),
      duration: run.duration_ms,
    }))
    .reverse();
}

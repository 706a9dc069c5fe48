import type { LeftRun, RunReport } from './running/report.ts';
import { countRepositories } from './text.ts';
import { describeFailures } from './watching/failures.ts';

const SPOOLED =
  'The database is away: this run is spooled in DATA_DIR, and the next run that reaches the database delivers it.';

/** A worker that stopped, while others go on. */
function describeLeft({ id, counters, empty, errorMessage, failures }: LeftRun): string {
  const done = `${counters.successful - empty} backed up, ${counters.skipped} unchanged, ${counters.failed} failed`;
  const line = `Left run ${id} (${errorMessage}): ${done} here. Its other workers go on.`;
  return [line, ...describeFailures(failures)].join('\n');
}

/** One line about a run, for stdout, and what failed in it. */
export function describeReport(report: RunReport): string {
  if (report.status === 'refused') {
    const { active, why } = report;
    const reason = why === null ? '' : `, and ${why}`;
    return active === null
      ? 'No run: another worker is starting, ending, or uses the same DATA_DIR.'
      : `No run: run ${active.id} is active since ${active.startedAt}${reason}.`;
  }
  if (report.status === 'left') return describeLeft(report);
  const { id, status, total, isSpooled, counters, empty, errorMessage, durationMs, failures } =
    report;
  const parts = [
    `${counters.successful - empty} backed up`,
    `${counters.skipped} unchanged`,
    ...(empty > 0 ? [`${empty} empty`] : []),
    `${counters.failed} failed`,
  ];
  const why = status === 'failed' ? ` (${errorMessage})` : '';
  const title = id === null ? 'Run' : `Run ${id}`;
  const seconds = (durationMs / 1_000).toFixed(1);
  const line = `${title} ${status}${why}: ${countRepositories(total)}, ${parts.join(', ')}, in ${seconds} s.`;
  return [line, ...describeFailures(failures), ...(isSpooled ? [SPOOLED] : [])].join('\n');
}

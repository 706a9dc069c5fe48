import type { RunFigures } from '../../records/report-facts.ts';
import { quote, table } from '../../text/markdown.ts';
import type { FailureFacts } from '../../tools/backup-source.ts';
import { recommendActions } from '../../tools/recommended-actions.ts';
import { drawChart } from './chart.ts';
import type { Content } from './render-html.ts';
import { chartRuns, moment, runsTable } from './tables.ts';

/** Log lines shown for each repository. */
const MAX_SHOWN_LOGS = 3;

/** Repositories shown. */
export const MAX_SHOWN_FAILURES = 50;

/** Describes a failed run, with error logs by repository and the runs before it. Null if no run failed. */
export function describeFailure(
  facts: FailureFacts | null,
  logs: ReadonlyMap<string, readonly string[]>,
  history: readonly RunFigures[],
): Content {
  if (facts === null) {
    return {
      subject: 'Failure investigation: no failed run',
      blocks: [{ markdown: '# Failure investigation\n\nNo failed backup run is recorded.' }],
    };
  }
  const { run_id, ended_at, run_error, recent_fixes } = facts;
  const failures = facts.failures.slice(0, MAX_SHOWN_FAILURES);
  const runErrorLogs = logs.get('') ?? [];
  const more = facts.failed_repos_count - failures.length;
  const hasFailed = failures.length > 0 || run_error !== '' || runErrorLogs.length > 0;
  const samples = [
    ...failures.map(({ error_message }) => error_message),
    ...[...logs.values()].flat(),
  ];
  const chart = drawChart(chartRuns(history));
  return {
    subject: `Failure investigation: run ${run_id}, failed repositories ${facts.failed_repos_count}`,
    blocks: [
      {
        markdown: [
          `# Failures of run ${run_id}`,
          `Ended ${moment(ended_at)}, failed repositories: ${facts.failed_repos_count}.`,
          ...(run_error === '' ? [] : [`Error of the run: ${quote(run_error)}`]),
          ...(runErrorLogs.length === 0 ? [] : [bullets(runErrorLogs.map((it) => quote(it)))]),
          '## Repositories',
          table(
            ['Repository', 'Status', 'Error', 'Newest error logs', 'Last good commit', 'Since'],
            failures.map((failure) => [
              quote(failure.repository),
              quote(failure.status),
              quote(failure.error_message),
              (logs.get(failure.repository) ?? [])
                .slice(0, MAX_SHOWN_LOGS)
                .map((log) => quote(log))
                .join(' · ') || '–',
              quote((failure.last_successful_commit ?? '').slice(0, 12)),
              failure.recovered ? 'backed up again' : 'not backed up',
            ]),
            'No repository is recorded as failed.',
          ),
          ...(more > 0 ? [`Not shown: ${more} more.`] : []),
          ...(hasFailed ? ['## What to do', bullets(recommendActions(facts, samples))] : []),
          '## Newest recorded fixes',
          recent_fixes.length === 0
            ? 'None is recorded.'
            : bullets(recent_fixes.map(({ resolution }) => quote(resolution))),
          '## Runs',
        ].join('\n\n'),
      },
      ...(chart === null ? [] : [{ svg: chart }]),
      { markdown: runsTable(history) },
    ],
  };
}

function bullets(items: readonly string[]): string {
  return items.map((item) => `- ${item}`).join('\n');
}

import type { RunFacts } from '../../records/report-facts.ts';
import { quote, table } from '../../text/markdown.ts';
import { formatBytes, formatDuration } from '../../text/units.ts';
import { drawChart } from './chart.ts';
import type { Content } from './render-html.ts';
import { chartRuns, moment, percentage, runsTable, successRate } from './tables.ts';

/** Describes one run with its repositories and the runs before it. Null if there was no run yet. */
export function describeLatestBackup(facts: RunFacts | null): Content {
  if (facts === null) {
    return {
      subject: 'Backup report: no run yet',
      blocks: [{ markdown: '# Latest backup\n\nNo backup run is recorded yet.' }],
    };
  }
  const { run, results, results_count, empty_count, history } = facts;
  const chart = drawChart(chartRuns(history));
  const more = results_count - results.length;
  const empty = empty_count > 0 ? `, of which empty (nothing to archive): ${empty_count}` : '';
  return {
    subject: `Backup run ${run.id}: ${run.status}, ${run.failed} of ${run.total_repos} failed`,
    blocks: [
      {
        markdown: [
          `# Backup run ${run.id}`,
          `Started ${moment(run.started_at)}, status ${quote(run.status)}, took ${formatDuration(run.duration_ms)}.`,
          `- Repositories: ${run.total_repos}\n- Successful: ${run.successful}${empty}\n- Unchanged: ${run.skipped}\n- Failed: ${run.failed}\n- Without failure: ${percentage(successRate(run))}\n- Archives made: ${formatBytes(run.size_bytes)}`,
          ...(run.error_message === '' ? [] : [`Error: ${quote(run.error_message)}`]),
          '## Repositories',
          table(
            ['Repository', 'Status', 'Size', 'Duration', 'Error'],
            results.map((result) => [
              quote(result.repository),
              quote(result.status),
              formatBytes(result.size_bytes),
              formatDuration(result.duration_ms),
              quote(result.error_message),
            ]),
            'The run recorded no result of a repository.',
          ),
          ...(more > 0 ? [`Not shown: ${more} more.`] : []),
          '## Runs',
        ].join('\n\n'),
      },
      ...(chart === null ? [] : [{ svg: chart }]),
      { markdown: runsTable(history) },
    ],
  };
}

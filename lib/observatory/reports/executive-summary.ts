import { FOLDER_STORAGE } from '../../records/drills/new-drill.ts';
import type { NeededProof } from '../../records/drills/read-proofs.ts';
import { PROOF_DAYS } from '../../records/drills/states.ts';
import type { SummaryFacts } from '../../records/report-facts.ts';
import { quote, table } from '../../text/markdown.ts';
import { formatBytes, formatDuration } from '../../text/units.ts';
import { drawChart } from './chart.ts';
import type { Content } from './render-html.ts';
import { moment, percentage, successRate } from './tables.ts';

/** Describes all runs of some weeks, day by day. */
export function describeSummary(facts: SummaryFacts): Content {
  const { from, until, days, failing, largest } = facts;
  const span = `${from.slice(0, 10)} to ${until.slice(0, 10)}`;
  const rate = percentage(successRate(facts));
  const chart = drawChart(
    [...days].reverse().map((day) => ({
      label: day.date,
      successRate: successRate(day),
      duration: day.duration_ms,
    })),
  );
  return {
    subject: `Backup summary ${span}: runs ${facts.runs}, with failures ${facts.failed_runs}`,
    blocks: [
      {
        markdown: [
          '# Executive summary',
          `From ${moment(from)} to ${moment(until)}.`,
          `- Runs: ${facts.runs}, with failures: ${facts.failed_runs}\n- Repositories without failure: ${rate} (failed: ${facts.failed} of ${facts.total_repos})\n- Mean duration of a run: ${formatDuration(facts.duration_ms)}\n- Archives made: ${formatBytes(facts.size_bytes)}\n- Kept now: ${formatBytes(facts.stored_bytes)}, repositories: ${facts.repositories}\n- ${describeProofs(facts)}`,
          '## Days',
        ].join('\n\n'),
      },
      ...(chart === null ? [] : [{ svg: chart }]),
      {
        markdown: [
          table(
            ['Day', 'Runs', 'Repositories', 'Failed', 'Success', 'Size', 'Mean duration'],
            days.map((day) => [
              day.date,
              String(day.runs),
              String(day.total_repos),
              String(day.failed),
              percentage(successRate(day)),
              formatBytes(day.size_bytes),
              formatDuration(day.duration_ms),
            ]),
            'There was no run.',
          ),
          '## Failures',
          table(
            ['Repository', 'Failures', 'Latest error'],
            failing.map(({ repository, failures, error_message }) => [
              quote(repository),
              String(failures),
              quote(error_message),
            ]),
            'No repository failed.',
          ),
          '## Restore proofs',
          ...describeEachProof(facts),
          '## Largest archives',
          table(
            ['Repository', 'Size', 'Backed up'],
            largest.map(({ repository, size_bytes, last_backed_up }) => [
              quote(repository),
              formatBytes(size_bytes),
              moment(last_backed_up),
            ]),
            'No archive is recorded.',
          ),
        ].join('\n\n'),
      },
    ],
  };
}

function describeProofs({ proofs, repositories }: SummaryFacts): string {
  const { proven, never, failing } = proofs;
  return `Proven restorable within ${PROOF_DAYS} days: ${proven} of ${repositories} (never: ${never}, restore drill failed: ${failing})`;
}

/** Lists the repositories that need a proof most, and says how many others there are. */
function describeEachProof({ proofs: { most_needed: shown }, repositories }: SummaryFacts) {
  const rows = shown.map((proof) => [quote(proof.full_name), describeProof(proof)]);
  const more = repositories - shown.length;
  return [
    table(['Repository', 'Restore proof'], rows, 'No repository is tracked.'),
    ...(more > 0 ? [`Not shown: ${more} more.`] : []),
  ];
}

function describeProof({ proven_at, storage, failed_at }: NeededProof): string {
  const place = storage === FOLDER_STORAGE ? 'the archive folder' : quote(storage ?? '');
  const proof = proven_at === null ? null : `proven on ${moment(proven_at)} from ${place}`;
  if (failed_at === null) return proof ?? 'never';
  return `failed on ${moment(failed_at)}${proof === null ? '' : `, last ${proof}`}`;
}

import type { Run } from './backup-source.ts';

/** What a run came to, in a sentence: of the successful ones it says how many were empty. */
export function describeRun(run: Run, resultCounts: Readonly<Record<string, number>>): string {
  const empty = resultCounts.empty ?? 0;
  const parts = [
    `${run.successful} successful${empty > 0 ? `, of which ${empty} empty (nothing to archive)` : ''}`,
    `${run.skipped} unchanged`,
    `${run.failed} failed`,
  ];
  const total = run.total_repos === 1 ? '1 repository' : `${run.total_repos} repositories`;
  return `run ${run.id} ${run.status}, ${total}: ${parts.join('; ')}`;
}

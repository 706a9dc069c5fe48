import type { FailureFacts } from './backup-source.ts';

/** What became of a run, in a sentence for a model that was asked why it failed. */
export function describeFailure(facts: FailureFacts, errors: number): string {
  const { run_id, run_status, failed_count, failed_repos_count } = facts;
  const run = `run ${run_id}`;
  if (failed_repos_count > 0) {
    const causes = errors === 1 ? 'with one error' : `with ${errors} different errors`;
    return `${run} ${ended(run_status)}; ${repositories(failed_repos_count)} failed, ${causes}`;
  }
  if (failed_count > 0) {
    return `${run} ${ended(run_status)} and counts ${repositories(failed_count)} that failed, but their results are not recorded`;
  }
  if (run_status === 'failed') return `${run} failed as a whole: see run_error and run_error_logs`;
  if (run_status === 'running') return `${run} is running; no repository has failed so far`;
  return `${run} ${ended(run_status)}, with no failed repository: there is nothing to diagnose`;
}

function ended(status: string): string {
  if (status === 'running') return 'is running';
  return status === 'failed' ? 'failed' : 'completed';
}

function repositories(count: number): string {
  return count === 1 ? '1 repository' : `${count} repositories`;
}

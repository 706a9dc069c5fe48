import type { FailureFacts } from './backup-source.ts';

/** What an error message tells, and what to do about it. */
interface Advice {
  pattern: RegExp;
  action: string;
}

const advices: readonly Advice[] = [
  {
    pattern:
      /authentication failed|could not read (username|password)|permission denied|bad credentials|invalid username|\b40[13]\b|terminal prompts disabled/i,
    action:
      'Check the access of the worker: `npm run worker -- auth status --check`, then log in again where a login has expired or lacks a repository.',
  },
  {
    pattern:
      /repository .*not found|does not exist|there is no folder|\b404\b|does not appear to be a git repository/i,
    action: 'Check whether the repository was renamed, moved, deleted or hidden from the login.',
  },
  {
    pattern:
      /could not resolve host|timed? ?out|ECONN|ENOTFOUND|EAI_AGAIN|connection (reset|refused|closed)|unable to access|network is unreachable|early EOF|hung up/i,
    action:
      'Check the network path to the git host: name resolution, proxy and the state of the host. Failures of this kind often pass by themselves.',
  },
  {
    pattern: /no space left|ENOSPC|disk quota|quota exceeded/i,
    action: 'Free room on the disk of the archives; get_system_health shows how much is left.',
  },
  {
    pattern: /worker stopped without finishing/i,
    action:
      'Find out why the worker ended: a restart of its host, lack of memory or a time limit of its scheduler.',
  },
  {
    pattern:
      /corrupt|bad object|missing (blob|tree|commit)|invalid sha|pack .*(damaged|truncated)/i,
    action: 'Check the repository itself with `git fsck`: it holds damaged objects.',
  },
  {
    pattern: /certificate|SSL|TLS/,
    action: 'Check the TLS certificate of the git host and the clock of the worker.',
  },
];

const TOO_LARGE =
  'Archives above the 100 MiB limit of a file in git were kept on disk but not pushed: use a destination without that limit, or make the repository smaller.';

/**
 * What to do about a failed run, most specific first. Fixed texts with counts alone, chosen by the
 * run's error and by `samples` of the errors and error logs: no word of a log or a message comes through,
 * so that none can pose as an instruction.
 */
export function recommendActions(facts: FailureFacts, samples: readonly string[]): string[] {
  const { run_id, failures, failed_repos_count, recent_fixes } = facts;
  const texts = [...samples, facts.run_error];
  const actions = advices
    .filter(({ pattern }) => texts.some((text) => pattern.test(text)))
    .map(({ action }) => action);
  if (failures.some(({ status }) => status === 'too_large')) actions.push(TOO_LARGE);
  if (actions.length === 0 && texts.some((text) => text.trim() !== '')) {
    actions.push(
      `Read the logs around the errors: get_execution_logs with run_id ${run_id}; none of the known causes matches.`,
    );
  }
  const recovered = failures.filter((failure) => failure.recovered).length;
  if (recovered > 0) {
    actions.push(
      `${recovered} of the repositories that failed were backed up since: look at the others.`,
    );
  }
  if (recent_fixes.length > 0) {
    actions.push('Compare with similar_past_incidents: how earlier failures were fixed.');
  }
  if (recovered < failed_repos_count || failed_repos_count === 0) {
    actions.push('When the cause is removed, queue a run with trigger_backup_run.');
  }
  actions.push('Write down what helped with record_backup_fix, so that it is found next time.');
  return actions;
}

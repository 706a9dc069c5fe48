import type { FailureFacts } from './backup-source.ts';

/** What to do about errors that match a pattern. */
interface Advice {
  pattern: RegExp;
  action: string;
}

const advices: readonly Advice[] = [
  {
    pattern:
      /authentication failed|could not read (username|password)|permission denied|bad credentials|invalid username|\b40[13]\b|terminal prompts disabled|rejects the token|cannot be used: .*log in again|not logged in/i,
    action:
      'Check the access of the worker with `npm run worker -- auth status --check`. Log in again, or replace the token, if a login has expired, was revoked or has no access to a repository.',
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
      'Check the network connection to the git host: name resolution, proxy and the state of the host. Such failures are often temporary.',
  },
  {
    pattern: /no space left|ENOSPC|disk quota|quota exceeded/i,
    action: 'Free up space on the disk of the archives; get_system_health shows how much is left.',
  },
  {
    pattern: /worker stopped without finishing/i,
    action:
      'Find out why the worker stopped: a restart of its host, lack of memory or a time limit of its scheduler.',
  },
  {
    pattern:
      /corrupt|bad object|missing (blob|tree|commit)|invalid sha|pack .*(damaged|truncated)/i,
    action: 'Check the repository itself with `git fsck`: it contains damaged objects.',
  },
  {
    pattern: /certificate|SSL|TLS/,
    action: 'Check the TLS certificate of the git host and the clock of the worker.',
  },
];

const UNREAD =
  'Correct the path or address of each source in unread_sources where the run is started (--source), or make it readable there: it is no repository, so there is nothing to forget.';

const TOO_LARGE =
  'Archives larger than 100 MiB, the limit for a file in git, were kept on disk but not pushed. Use a destination without that limit, or make the repository smaller.';

/**
 * Recommends actions for a failed run, most specific first, based on the run's error and on `samples` of the
 * errors and error logs. The texts are fixed except for counts, so that no text from a log can act as an
 * instruction.
 */
export function recommendActions(facts: FailureFacts, samples: readonly string[]): string[] {
  const { run_id, failures, failed_repos_count, recent_fixes } = facts;
  const texts = [...samples, facts.run_error];
  const actions = advices
    .filter(({ pattern }) => texts.some((text) => pattern.test(text)))
    .map(({ action }) => action);
  if (failures.some(({ status }) => status === 'too_large')) actions.push(TOO_LARGE);
  const { unread_sources: unread = [] } = facts;
  if (unread.length > 0) actions.unshift(UNREAD);
  if (actions.length === 0 && texts.some((text) => text.trim() !== '')) {
    actions.push(
      `No known cause matches: read the logs around the errors with get_execution_logs and run_id ${run_id}.`,
    );
  }
  const recovered = failures.filter((failure) => failure.recovered).length;
  if (recovered > 0) {
    actions.push(
      `${recovered} of the failed repositories were backed up since: look at the others.`,
    );
  }
  if (recent_fixes.length > 0) {
    actions.push(
      'Compare with similar_past_incidents, which shows how earlier failures were fixed.',
    );
  }
  if (recovered < failed_repos_count || (failed_repos_count === 0 && unread.length === 0)) {
    actions.push('Once the cause is fixed, queue a run with trigger_backup_run.');
  }
  actions.push('Record what helped with record_backup_fix, so that it is found next time.');
  return actions;
}

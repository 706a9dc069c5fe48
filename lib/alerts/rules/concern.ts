import { formatMinute } from '../../text/format-minute.ts';
import { countRepositories } from '../../text/units.ts';
import { type ConcernedRepository, type Finding, repositorySeverity } from './rule.ts';
import type { Unwell } from './unwell.ts';

/** Describes a failing repository. */
export function failing(unwell: Unwell): ConcernedRepository {
  const { name, state, failures, failing_since, last_good_at, error } = unwell;
  const times = failures > 1 ? `failed ${failures} times or more: ` : '';
  // The first question when the source no longer exists: is there a copy?
  const copy =
    state === 'lost' && last_good_at !== null
      ? `; its last good backup is of ${formatMinute(last_good_at)}`
      : '';
  return {
    name,
    reason: `${times}${error === '' ? 'no reason was recorded' : error}${copy}`,
    since: failing_since,
    severity: state === 'lost' ? repositorySeverity.loss : repositorySeverity.failure,
  };
}

/** One incident about all of these repositories; none if there are no repositories. */
export function about(
  repositories: readonly ConcernedRepository[],
  describe: (count: string) => string,
  subject = '',
): Finding[] {
  if (repositories.length === 0) return [];
  const summary = describe(countRepositories(repositories.length));
  return [{ subject, summary, repositories }];
}

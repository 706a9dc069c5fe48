import { formatMinute } from '../../text/format-minute.ts';
import { countRepositories } from '../../text/units.ts';
import type { NotGoodRepository } from './not-good.ts';
import { type ConcernedRepository, type Finding, repositorySeverity } from './rule.ts';

/** Describes a failing repository. */
export function describeFailing(repository: NotGoodRepository): ConcernedRepository {
  const { name, state, failures, failing_since, last_good_at, error } = repository;
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
export function oneIncident(
  repositories: readonly ConcernedRepository[],
  describe: (count: string) => string,
  subject = '',
): Finding[] {
  if (repositories.length === 0) return [];
  const summary = describe(countRepositories(repositories.length));
  return [{ subject, summary, repositories }];
}

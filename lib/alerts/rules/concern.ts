import { countRepositories } from '../../text/units.ts';
import type { ConcernedRepository, Finding } from './rule.ts';
import type { Unwell } from './unwell.ts';

/** Describes a repository that fails. */
export function failing({ name, failures, failing_since, error }: Unwell): ConcernedRepository {
  const times = failures > 1 ? `failed ${failures} times or more: ` : '';
  return {
    name,
    reason: `${times}${error === '' ? 'no reason was recorded' : error}`,
    since: failing_since,
  };
}

/** One incident about all of these repositories; none about no repository. */
export function about(
  repositories: readonly ConcernedRepository[],
  describe: (count: string) => string,
  subject = '',
): Finding[] {
  if (repositories.length === 0) return [];
  const summary = describe(countRepositories(repositories.length));
  return [{ subject, summary, repositories }];
}
